import type { InventoryClient } from "../../client.js";
import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import type { Checkpoint } from "../../paging/checkpoint.js";
import type { ListForecast } from "../../paging/estimate.js";
import type { ListOptions } from "../../paging/list.js";
import type { Page, PagingProgress } from "../../paging/page.js";
import type { StockLevel } from "../../schemas/stock-level.js";
import type { MirrorList } from "../copy/lists.js";
import type { MirrorRecords, MirrorResource, WarehouseStockLevel } from "../tables.js";

/** The part of a list that is read; all of it by default. */
interface ListRange {
  modifiedSince?: Date;
  from?: Checkpoint | undefined;
}

export interface ReadOptions {
  signal: AbortSignal | undefined;
  concurrency: number;
}

/** A list that is being read. */
export interface ListPages<T> {
  pages: AsyncIterable<Page<T>>;
  /** Where to resume after the last page that was consumed. */
  checkpoint(): Checkpoint | null;
  /** The service's clock, in ms, not later than the first request; `undefined` if responses have no `Date` header. */
  startedAt(): number | undefined;
  /** The first `Date` header, in ms. */
  firstDate(): number | undefined;
  progress(): PagingProgress | undefined;
}

/** The cost of reading a list so far. */
export interface ReadStats {
  requests: number;
  pages: number;
  records: number;
  duplicates: number;
  gapsRepaired: number;
}

/** Reads one list: gapless, at the lowest priority, and with statistics. */
export class ListReader<R extends MirrorResource> {
  readonly stats: ReadStats = { requests: 0, pages: 0, records: 0, duplicates: 0, gapsRepaired: 0 };
  readonly #source: OpenList<MirrorRecords[R]>;
  readonly #options: ReadOptions;

  constructor(client: InventoryClient, list: MirrorList<R>, options: ReadOptions) {
    this.#source = listSourceOf(client, list);
    this.#options = options;
  }

  read({ modifiedSince, from }: ListRange = {}): ListPages<MirrorRecords[R]> {
    let startedAt: number | undefined;
    let firstDate: number | undefined;
    let progress: PagingProgress | undefined;
    const paginator = this.#source(
      { modifiedSince },
      {
        ...this.#requestOptions((response) => {
          firstDate ??= serviceDateOf(response);
          startedAt ??= serviceTimeBefore(response);
        }),
        gapless: true,
        concurrency: this.#options.concurrency,
        from,
        onProgress: (now) => {
          this.#addPage(now, progress);
          progress = now;
        },
      },
    );
    return {
      pages: paginator.pages(),
      checkpoint: () => paginator.checkpoint(),
      startedAt: () => startedAt,
      firstDate: () => firstDate,
      progress: () => progress,
    };
  }

  /** Estimated cost of reading it, from one request for one record. */
  forecast({ modifiedSince, from }: ListRange): Promise<ListForecast> {
    const { concurrency } = this.#options;
    return this.#source({ modifiedSince }, { ...this.#requestOptions(), gapless: true, concurrency, from }).forecast();
  }

  /** How many records the service reports, in one request for one record. */
  async count(modifiedSince?: Date): Promise<number> {
    const { totalCount } = await this.#source({ modifiedSince, pageSize: 1 }, this.#requestOptions()).page();
    return totalCount;
  }

  #requestOptions(observe?: (response: ResponseInfo) => void): RequestOptions {
    const { signal } = this.#options;
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

/** The `Date` header, in ms; `undefined` if there is none. */
function serviceDateOf({ headers }: ResponseInfo): number | undefined {
  const date = Date.parse(headers.date ?? "");
  return Number.isNaN(date) ? undefined : date;
}

/** The service's time when the call began, or earlier: the `Date` header is set when the response begins, at the earliest. */
function serviceTimeBefore(response: ResponseInfo): number | undefined {
  const date = serviceDateOf(response);
  return date === undefined ? undefined : Math.floor(date - response.durationMs);
}

interface ListParams {
  modifiedSince?: Date | undefined;
  pageSize?: number;
}

/** The part of a `Paginator` that a mirror uses. */
interface ListPaginator<T> {
  pages(): AsyncIterable<Page<T>>;
  page(): Promise<Page<T>>;
  checkpoint(): Checkpoint | null;
  forecast(): Promise<ListForecast>;
}

/** Starts to read a list of the service. */
type OpenList<T> = (params: ListParams, options: ListOptions) => ListPaginator<T>;

/** The endpoints that list everything, discontinued items included. */
const SOURCE_BY_RESOURCE: {
  readonly [R in MirrorResource]: (client: InventoryClient, wID: number) => OpenList<MirrorRecords[R]>;
} = {
  items:
    ({ items }) =>
    (params, options) =>
      items.list({ ...params, includeDiscontinued: true }, options),
  lots:
    ({ inventory }) =>
    (params, options) =>
      inventory.listLots(params, options),
  stockLevels:
    ({ inventory }) =>
    (params, options) =>
      inventory.listStockLevels(params, options),
  warehouseStockLevels:
    ({ inventory }, wID) =>
    (params, options) =>
      withWarehouse(inventory.listStockLevels({ ...params, wid: wID }, options), wID),
};

const listSourceOf = <R extends MirrorResource>(client: InventoryClient, { resource, wID = 0 }: MirrorList<R>) =>
  SOURCE_BY_RESOURCE[resource](client, wID);

/** The stock levels of one warehouse do not contain its ID. */
function withWarehouse(levels: ListPaginator<StockLevel>, wID: number): ListPaginator<WarehouseStockLevel> {
  const addTo = ({ value, ...page }: Page<StockLevel>) => ({
    ...page,
    value: value.map((level) => ({ ...level, wID })),
  });
  return {
    async *pages() {
      for await (const page of levels.pages()) yield addTo(page);
    },
    page: async () => addTo(await levels.page()),
    checkpoint: () => levels.checkpoint(),
    forecast: () => levels.forecast(),
  };
}
