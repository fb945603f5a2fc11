import { afterEveryChange } from "../../bulk/probes.js";
import { BulkRequests } from "../../bulk/requests.js";
import { ApiError, type InventoryClient, type ListOptions, type Paginator, ServerError } from "../../client/index.js";
import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import { type MirrorList, type NumberedRecord, numberedRecord } from "../tables.js";

/** How many pages are requested while one is written. */
const READ_AHEAD = 2;

/** Connections that break for a minute end no run. */
const RETRY = { maxRetries: 8, maxDelayMs: 60_000 };

/** A list that is being read, or was read. */
export class Reading {
  /** Numbers of the records that were listed. */
  readonly numbers = new Set<number>();
  /** Whether numbers were listed in ascending order. They never change, so none was missed then. */
  #isAscending = true;
  #last = Number.NEGATIVE_INFINITY;
  #totals: number[] = [];

  readonly #createdAt = Date.now();

  constructor(readonly requests: BulkRequests) {}

  /** The service's clock when it began, in ms; `null` if responses have no `Date` header. */
  get since(): number | null {
    return this.requests.startedAt ?? null;
  }

  /** When it began: by the clock of this machine or the service's, whichever is behind. In ms. */
  get beganAt(): number {
    return Math.min(this.#createdAt, this.since ?? this.#createdAt);
  }

  add(records: readonly NumberedRecord[], totalCount: number): void {
    this.#totals = [this.#totals[0] ?? totalCount, totalCount];
    for (const { number } of records) {
      this.#isAscending &&= number > this.#last;
      this.#last = number;
      this.numbers.add(number);
    }
  }

  get hasAscended(): boolean {
    return this.#isAscending && this.numbers.size > 0;
  }

  /** How many records the service has counted all the time and not listed. */
  get unlisted(): number {
    return Math.max(0, Math.min(...this.#totals) - this.numbers.size);
  }
}

/** Reads one list: gapless, at the lowest priority, and with statistics. */
export class ListReader {
  /** The cost of reading so far. */
  readonly stats = { requests: 0, pages: 0, records: 0 };

  constructor(
    private readonly client: InventoryClient,
    private readonly list: MirrorList,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** A reading of the list, or of a part of it. */
  begin(): Reading {
    return new Reading(this.#begin());
  }

  /** Reads the records that were modified since then, or all, page by page into `reading`. */
  async *read(
    reading: Reading,
    modifiedSince?: Date,
  ): AsyncGenerator<{ records: NumberedRecord[]; totalCount: number }, void, undefined> {
    const options = { ...reading.requests.options, gapless: true, readAhead: READ_AHEAD };
    const list = openList(this.client, this.list, { modifiedSince }, options);
    for await (const { value, totalCount } of list.pages()) {
      this.stats.pages += 1;
      this.stats.records += value.length;
      const records = value.map((record) => numberedRecord(this.list, record));
      reading.add(records, totalCount);
      yield { records, totalCount };
    }
  }

  /** How many records the list has, as the service counts them. */
  async count(modifiedSince?: Date): Promise<number> {
    const params = { modifiedSince, pageSize: 1 };
    return (await openList(this.client, this.list, params, this.#begin().options).page()).totalCount;
  }

  /** Whether the list has records for a date in ten years, or rejects it. */
  async ignoresModifiedSince(): Promise<boolean> {
    const count = await this.#countUnlessRefused(afterEveryChange(Date.now()));
    return typeof count === "number" ? count > 0 : !ServerError.is(count);
  }

  /** Whether the list cannot be read for this date. */
  async refuses(modifiedSince: Date): Promise<boolean> {
    return typeof (await this.#countUnlessRefused(modifiedSince)) !== "number";
  }

  /** The number of records, or the refusal. */
  #countUnlessRefused(modifiedSince: Date): Promise<unknown> {
    return this.count(modifiedSince).catch((error: unknown) => {
      if (isRefusalOfIncrements(error)) return error;
      throw error;
    });
  }

  #begin(): BulkRequests {
    return new BulkRequests({ client: this.client, signal: this.signal, retry: RETRY, counter: this.stats });
  }
}

/** Whether a service may fail in this way for a list without `modifiedSince`. */
export const isRefusalOfIncrements = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 400 || error.status >= 500);

interface ListParams {
  modifiedSince?: Date | undefined;
  pageSize?: number;
}

/** The endpoints that list everything, discontinued items included. */
function openList(
  { items, inventory }: InventoryClient,
  { resource, wID }: MirrorList,
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
      return inventory.listStockLevels({ ...params, wid: wID ?? 0 }, options);
  }
}
