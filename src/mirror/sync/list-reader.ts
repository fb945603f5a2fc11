import { openList } from "../../bulk/lists.js";
import { answerOf, probeModifiedSince } from "../../bulk/probes.js";
import { BulkRequests } from "../../bulk/requests.js";
import type { InventoryClient, ListOptions, ListParams, Page } from "../../client/index.js";
import { type MirrorList, type NumberedRecord, numberedRecord } from "../tables.js";

/** How many pages are requested while one is written. */
const READ_AHEAD = 2;

/** With these retries, a run survives connections that break for a minute. */
const RETRY = { maxRetries: 8, maxDelayMs: 60_000 };

/** A list that is being read, or was read. */
export class MirrorReading {
  /** Numbers of the records that were listed. */
  readonly numbers = new Set<number>();
  /** Whether numbers were listed in ascending order. Numbers never change, so an ascending reading has missed no record. */
  #isAscending = true;
  #last = Number.NEGATIVE_INFINITY;
  #totals: number[] = [];

  readonly #createdAt = Date.now();

  constructor(readonly requests: BulkRequests) {}

  /** The service's clock when the reading began, in ms; `null` if responses have no `Date` header. */
  get since(): number | null {
    return this.requests.serviceTimeAtStart ?? null;
  }

  /** When the reading began, in ms: by this machine's clock or by the service's clock, whichever is behind. */
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

  /** How many records were counted but not listed. The lower of the first and the last count applies. */
  get unlisted(): number {
    return Math.max(0, Math.min(...this.#totals) - this.numbers.size);
  }
}

/** Reads one list: gapless, at the lowest priority, and with statistics. */
export class MirrorListReader {
  /** The numbers for the report, so far. */
  readonly stats = { requests: 0, pages: 0, records: 0 };

  constructor(
    private readonly client: InventoryClient,
    private readonly list: MirrorList,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Begins a reading of the list, or of a part of it. */
  begin(): MirrorReading {
    return new MirrorReading(this.#newRequests());
  }

  /** Reads the records that were modified since `modifiedSince`, or all records, page by page. Adds them to `reading`. */
  async *read(
    reading: MirrorReading,
    modifiedSince?: Date,
  ): AsyncGenerator<{ records: NumberedRecord[]; totalCount: number }, void, undefined> {
    const options = { ...reading.requests.options, gapless: true, readAhead: READ_AHEAD };
    const list = this.#open({ modifiedSince }, options);
    for await (const { value, totalCount } of list.pages()) {
      this.stats.pages += 1;
      this.stats.records += value.length;
      const records = value.map((record) => numberedRecord(this.list, record));
      reading.add(records, totalCount);
      yield { records, totalCount };
    }
  }

  /** How many records the list has, as the service counts them. */
  async count(): Promise<number> {
    return (await this.#readPage({ pageSize: 1 })).totalCount;
  }

  /** Whether the list, which is not empty, ignores `modifiedSince`, rejects it, or answers every date with an empty list. */
  async ignoresModifiedSince(): Promise<boolean> {
    const support = await probeModifiedSince((params) => this.#readPage(params));
    return support === "ignored" || support === "always-empty";
  }

  /** Whether the service refuses to list what was modified since this date. */
  async refuses(modifiedSince: Date): Promise<boolean> {
    return !(await answerOf(this.#readPage({ modifiedSince, pageSize: 1 }))).page;
  }

  #readPage(params: ListParams): Promise<Page<object>> {
    return this.#open(params, this.#newRequests().options).page();
  }

  /** Opens the list of all records, discontinued items included. */
  #open(params: ListParams, options: ListOptions) {
    const { resource, wID } = this.list;
    const name = resource === "warehouseStockLevels" ? "stockLevels" : resource;
    return openList(this.client, name, { ...params, includeDiscontinued: true, wid: wID ?? undefined }, options);
  }

  #newRequests(): BulkRequests {
    return new BulkRequests({ client: this.client, signal: this.signal, retry: RETRY, counter: this.stats });
  }
}
