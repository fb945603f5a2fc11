import type { InventoryClient } from "../../client.js";
import type { RequestOptions, ResponseInfo } from "../../core/request-options.js";
import type { Checkpoint } from "../../paging/checkpoint.js";
import type { Forecast } from "../../paging/forecast.js";
import type { ListOptions } from "../../paging/list-options.js";
import type { Page, PagingProgress } from "../../paging/page.js";
import type { Paginator } from "../../paging/paginator.js";
import type { MirrorRecords, MirrorResource } from "../tables.js";

interface Filter {
  modifiedSince?: Date | undefined;
  pageSize?: number;
}

type Open<T> = (filter: Filter, options: ListOptions) => Paginator<T>;

/** The endpoints that tell all there is, discontinued items too. */
const LISTS: { readonly [R in MirrorResource]: (client: InventoryClient) => Open<MirrorRecords[R]> } = {
  items: (client) => (filter, options) => client.items.list({ ...filter, includeDiscontinued: true }, options),
  lots: (client) => (filter, options) => client.inventory.listLots(filter, options),
  stockLevels: (client) => (filter, options) => client.inventory.listStockLevels(filter, options),
};

/** What of a list is read. */
interface Part {
  modifiedSince?: Date;
  from?: Checkpoint | undefined;
}

export interface ReadOptions {
  signal: AbortSignal | undefined;
  concurrency: number;
}

/** One reading of a list. */
export interface Reading<T> {
  pages: AsyncIterable<Page<T>>;
  /** Where to go on after the last page that was consumed. */
  checkpoint(): Checkpoint | null;
  /** The service's clock, in ms, when the reading began, at the latest; `undefined` where it does not tell its time. */
  startedAt(): number | undefined;
  /** How far it has come. */
  progress(): PagingProgress | undefined;
}

/** The list of one resource as a mirror reads it: without gaps, after all other calls, and counted. */
export class ResourceReader<R extends MirrorResource> {
  readonly #open: Open<MirrorRecords[R]>;
  readonly #options: ReadOptions;
  readonly #stats: ReadStats;

  constructor(client: InventoryClient, resource: R, options: ReadOptions, stats: ReadStats) {
    this.#open = LISTS[resource](client);
    this.#options = options;
    this.#stats = stats;
  }

  read({ modifiedSince, from }: Part = {}): Reading<MirrorRecords[R]> {
    let startedAt: number | undefined;
    let progress: PagingProgress | undefined;
    const paginator = this.#open(
      { modifiedSince },
      {
        ...this.#request((response) => {
          startedAt ??= timeBefore(response);
        }),
        gapless: true,
        concurrency: this.#options.concurrency,
        from,
        onProgress: (now) => {
          this.#stats.page(now, progress);
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

  /** What reading it takes, from one small request. */
  forecast({ modifiedSince, from }: Part): Promise<Forecast> {
    const { concurrency } = this.#options;
    return this.#open({ modifiedSince }, { ...this.#request(), gapless: true, concurrency, from }).forecast();
  }

  /** How many records there are, in one small request. */
  async count(modifiedSince?: Date): Promise<number> {
    const { totalCount } = await this.#open({ modifiedSince, pageSize: 1 }, this.#request()).page();
    return totalCount;
  }

  #request(patchState?: (response: ResponseInfo) => void): RequestOptions {
    const { signal } = this.#options;
    const onResponse = (response: ResponseInfo) => {
      this.#stats.requests += response.attempts;
      patchState?.(response);
    };
    return { priority: "low", onResponse, ...(signal === undefined ? {} : { signal }) };
  }
}

/** The service's time before it began to answer: it stamps its answers, at the earliest, when the call began. */
function timeBefore({ headers, durationMs }: ResponseInfo): number | undefined {
  const stamped = Date.parse(headers.date ?? "");
  return Number.isNaN(stamped) ? undefined : Math.floor(stamped - durationMs);
}

/** What reading one resource took. */
export class ReadStats {
  requests = 0;
  pages = 0;
  records = 0;
  duplicates = 0;
  gapsRepaired = 0;

  /** Counts a page; the progress of a reading tells its sums, so what the last one told is taken off. */
  page(now: PagingProgress, last: PagingProgress | undefined): void {
    this.pages += 1;
    this.records += now.received - (last?.received ?? 0);
    this.duplicates += now.duplicates - (last?.duplicates ?? 0);
    this.gapsRepaired += now.gapsRepaired - (last?.gapsRepaired ?? 0);
  }
}
