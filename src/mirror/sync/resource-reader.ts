import type { InventoryClient } from "../../client.js";
import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import type { Checkpoint } from "../../paging/checkpoint.js";
import type { ListForecast } from "../../paging/estimate.js";
import type { ListOptions } from "../../paging/list.js";
import type { Page, PagingProgress } from "../../paging/page.js";
import type { Paginator } from "../../paging/paginator.js";
import type { MirrorRecords, MirrorResource } from "../tables.js";

interface ListParams {
  modifiedSince?: Date | undefined;
  pageSize?: number;
}

type ListMethod<T> = (params: ListParams, options: ListOptions) => Paginator<T>;

/** The endpoints that list everything, discontinued items included. */
const LIST_METHODS: { readonly [R in MirrorResource]: (client: InventoryClient) => ListMethod<MirrorRecords[R]> } = {
  items: (client) => (params, options) => client.items.list({ ...params, includeDiscontinued: true }, options),
  lots: (client) => (params, options) => client.inventory.listLots(params, options),
  stockLevels: (client) => (params, options) => client.inventory.listStockLevels(params, options),
};

/** The part of a list that is read; all of it by default. */
interface ScanRange {
  modifiedSince?: Date;
  from?: Checkpoint | undefined;
}

export interface ReadOptions {
  signal: AbortSignal | undefined;
  concurrency: number;
}

/** A list that is being read. */
export interface ListScan<T> {
  pages: AsyncIterable<Page<T>>;
  /** Where to resume after the last page that was consumed. */
  checkpoint(): Checkpoint | null;
  /** The service's clock, in ms, not later than the beginning of the scan; `undefined` if responses have no `Date` header. */
  startedAt(): number | undefined;
  progress(): PagingProgress | undefined;
}

/** What reading a resource has taken so far. */
export interface ReadStats {
  requests: number;
  pages: number;
  records: number;
  duplicates: number;
  gapsRepaired: number;
}

/** Reads the list of one resource: gapless, at the lowest priority, and with statistics. */
export class ResourceReader<R extends MirrorResource> {
  readonly stats: ReadStats = { requests: 0, pages: 0, records: 0, duplicates: 0, gapsRepaired: 0 };
  readonly #list: ListMethod<MirrorRecords[R]>;
  readonly #options: ReadOptions;

  constructor(client: InventoryClient, resource: R, options: ReadOptions) {
    this.#list = LIST_METHODS[resource](client);
    this.#options = options;
  }

  scan({ modifiedSince, from }: ScanRange = {}): ListScan<MirrorRecords[R]> {
    let startedAt: number | undefined;
    let progress: PagingProgress | undefined;
    const paginator = this.#list(
      { modifiedSince },
      {
        ...this.#requestOptions((response) => {
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
      progress: () => progress,
    };
  }

  /** What a scan is likely to take, from one request for one record. */
  forecast({ modifiedSince, from }: ScanRange): Promise<ListForecast> {
    const { concurrency } = this.#options;
    return this.#list({ modifiedSince }, { ...this.#requestOptions(), gapless: true, concurrency, from }).forecast();
  }

  /** How many records the service reports, in one request for one record. */
  async count(modifiedSince?: Date): Promise<number> {
    const { totalCount } = await this.#list({ modifiedSince, pageSize: 1 }, this.#requestOptions()).page();
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

/** The service's time when the call began, or earlier: the `Date` header is set when the response begins, at the earliest. */
function serviceTimeBefore({ headers, durationMs }: ResponseInfo): number | undefined {
  const stamped = Date.parse(headers.date ?? "");
  return Number.isNaN(stamped) ? undefined : Math.floor(stamped - durationMs);
}
