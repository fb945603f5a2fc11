import { dateHeaderMs, type ListForecast, serviceTimeBefore } from "../../client/for-add-ons.js";
import type {
  Checkpoint,
  InventoryClient,
  ListOptions,
  Paginator,
  PagingProgress,
  RequestOptions,
  ResponseInfo,
} from "../../client/index.js";
import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import { InputValidationError, PaginationError } from "../../shared/errors/index.js";
import { type MirrorList, type NumberedRecord, numberedRecord } from "../tables.js";

/** The part of a list that is read; all of it by default. */
interface ListRange {
  modifiedSince?: Date;
  from?: Checkpoint | undefined;
}

/** A page of a list. */
export interface ListedPage {
  records: readonly NumberedRecord[];
  totalCount: number;
}

/** A list that is being read. */
export interface ListPages {
  pages: AsyncIterable<ListedPage>;
  /** Where to resume after the last page that was consumed. */
  checkpoint(): Checkpoint | null;
  /**
   * The moment since which the next increment must read: by the service's clock, in ms, not later than the first request.
   * `undefined` if responses have no `Date` header.
   */
  since(): number | undefined;
  /** The first `Date` header, in ms. */
  firstDate(): number | undefined;
  progress(): PagingProgress | undefined;
}

/** The list cannot be resumed at the checkpoint: it must be read from the beginning. Never reaches the caller. */
export class NotResumableError extends Error {}

/** Reads one list: gapless, at the lowest priority, and with statistics. */
export class ListReader {
  /** The cost of reading so far. */
  readonly stats = { requests: 0, pages: 0, records: 0, duplicates: 0, gapsRepaired: 0 };
  readonly #client: InventoryClient;
  readonly #list: MirrorList;
  readonly #signal: AbortSignal | undefined;
  readonly #concurrency: number;

  constructor(
    client: InventoryClient,
    list: MirrorList,
    { signal, concurrency }: { signal: AbortSignal | undefined; concurrency: number },
  ) {
    this.#client = client;
    this.#list = list;
    this.#signal = signal;
    this.#concurrency = concurrency;
  }

  read({ modifiedSince, from }: ListRange = {}): ListPages {
    let since: number | undefined;
    let firstDate: number | undefined;
    let progress: PagingProgress | undefined;
    const paginator = openList(
      this.#client,
      this.#list,
      { modifiedSince },
      {
        ...this.#requestOptions((response) => {
          firstDate ??= dateHeaderMs(response.headers);
          since ??= serviceTimeBefore(response);
        }),
        gapless: true,
        concurrency: this.#concurrency,
        from,
        onProgress: (now) => {
          this.#addPage(now, progress);
          progress = now;
        },
      },
    );
    return {
      pages: this.#pagesOf(paginator, from !== undefined),
      checkpoint: () => paginator.checkpoint(),
      since: () => since,
      firstDate: () => firstDate,
      progress: () => progress,
    };
  }

  /** Estimated cost of reading it, from one request for one record. */
  forecast({ modifiedSince, from }: ListRange): Promise<ListForecast> {
    const options = { ...this.#requestOptions(), gapless: true, concurrency: this.#concurrency, from };
    return openList(this.#client, this.#list, { modifiedSince }, options).forecast();
  }

  /** How many records the service reports, in one request for one record. */
  async count(modifiedSince?: Date): Promise<number> {
    const { totalCount } = await openList(
      this.#client,
      this.#list,
      { modifiedSince, pageSize: 1 },
      this.#requestOptions(),
    ).page();
    return totalCount;
  }

  /** @throws NotResumableError when the list cannot be resumed. */
  async *#pagesOf(paginator: ReturnType<typeof openList>, isResumed: boolean): ListPages["pages"] {
    try {
      for await (const { value, totalCount } of paginator.pages())
        yield { records: value.map((record) => numberedRecord(this.#list, record)), totalCount };
    } catch (error) {
      const isOfList = error instanceof InputValidationError || error instanceof PaginationError;
      throw isResumed && isOfList ? new NotResumableError(error.message, { cause: error }) : error;
    }
  }

  #requestOptions(observe?: (response: ResponseInfo) => void): RequestOptions {
    const signal = this.#signal;
    const onResponse = (response: ResponseInfo) => {
      this.stats.requests += response.attempts;
      observe?.(response);
    };
    return { priority: "low", onResponse, ...(signal === undefined ? {} : { signal }) };
  }

  /** Progress reports sums; a page is what they have grown by. */
  #addPage(now: PagingProgress, last: PagingProgress | undefined): void {
    this.stats.pages += 1;
    this.stats.records += now.received - (last?.received ?? 0);
    this.stats.duplicates += now.duplicates - (last?.duplicates ?? 0);
    this.stats.gapsRepaired += now.gapsRepaired - (last?.gapsRepaired ?? 0);
  }
}

interface ListParams {
  modifiedSince?: Date | undefined;
  pageSize?: number;
}

/** The endpoints that list everything, discontinued items included. */
function openList(
  { items, inventory }: InventoryClient,
  { resource, wID = 0 }: MirrorList,
  params: ListParams,
  options: ListOptions,
): Paginator<Item> | Paginator<Lot> | Paginator<StockLevel> {
  switch (resource) {
    case "items":
      return items.list({ ...params, includeDiscontinued: true }, options);
    case "lots":
      return inventory.listLots(params, options);
    case "stockLevels":
      return inventory.listStockLevels(params, options);
    case "warehouseStockLevels":
      return inventory.listStockLevels({ ...params, wid: wID }, options);
  }
}
