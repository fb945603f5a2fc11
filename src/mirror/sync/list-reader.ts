import { dateHeaderMs, serviceTimeBefore } from "../../client/for-add-ons.js";
import type { InventoryClient, ListOptions, Paginator, RequestOptions, ResponseInfo } from "../../client/index.js";
import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import { type MirrorList, type NumberedRecord, numberedRecord } from "../tables.js";

/** How many pages are requested while one is written. */
const READ_AHEAD = 2;

/** A page of a list. */
export interface ListedPage {
  records: readonly NumberedRecord[];
  totalCount: number;
}

/** A list that is being read. */
export interface ListPages {
  pages: AsyncIterable<ListedPage>;
  /**
   * The moment since which the next increment must read: by the service's clock, in ms, not later than the first request.
   * `undefined` if responses have no `Date` header.
   */
  since(): number | undefined;
  /** The first `Date` header, in ms. */
  firstDate(): number | undefined;
}

/** Reads one list: gapless, at the lowest priority, and with statistics. */
export class ListReader {
  /** The cost of reading so far. */
  readonly stats = { requests: 0, pages: 0, records: 0 };
  readonly #client: InventoryClient;
  readonly #list: MirrorList;
  readonly #signal: AbortSignal | undefined;

  constructor(client: InventoryClient, list: MirrorList, { signal }: { signal: AbortSignal | undefined }) {
    this.#client = client;
    this.#list = list;
    this.#signal = signal;
  }

  /** Those that were modified since then, or all. */
  read(modifiedSince?: Date): ListPages {
    let since: number | undefined;
    let firstDate: number | undefined;
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
        readAhead: READ_AHEAD,
      },
    );
    return {
      pages: this.#pagesOf(paginator),
      since: () => since,
      firstDate: () => firstDate,
    };
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

  async *#pagesOf(paginator: ReturnType<typeof openList>): ListPages["pages"] {
    for await (const { value, totalCount } of paginator.pages()) {
      this.stats.pages += 1;
      this.stats.records += value.length;
      yield { records: value.map((record) => numberedRecord(this.#list, record)), totalCount };
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
