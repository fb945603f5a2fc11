import { setNewest } from "../../shared/bounded-map.js";
import type { NotFoundError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import type { WriteLog } from "../send/write-log.js";

/** The result of a search: a record, no record, or no such item. */
export type SearchResult = { record: unknown } | { missing: NotFoundError };

/** When something was read. */
export interface ReadTime {
  /** When the oldest request was sent, by the monotonic clock. */
  sentAt: number;
  /** The `WriteLog.epoch` before the reading. */
  epoch: number;
}

const MAX_RESULTS = 10_000;

/**
 * The last results of searches, for callers who accept them (`maxAgeMs`), and the last list that was read as a whole. A result
 * is not used once a write of this client for its item has begun or ended since.
 */
export class ResultCache {
  readonly #results = new Map<string, ReadTime & { result: SearchResult }>();
  #list: (ReadTime & { path: string; byPartNo: ReadonlyMap<number, unknown> }) | undefined;

  constructor(private readonly writes: WriteLog) {}

  /**
   * Returns the result for an item, if it is not older than `maxAgeMs`. `partNo`: the part number of the item, if it is
   * known.
   */
  get(path: string, shortID: string, partNo: number | undefined, maxAgeMs: number): SearchResult | undefined {
    if (maxAgeMs <= 0) return undefined;
    const kept = this.#results.get(`${path} ${shortID}`);
    if (kept && this.#isUsable(kept, shortID, maxAgeMs)) return kept.result;
    const list = this.#list;
    if (partNo === undefined || list?.path !== path || !this.#isUsable(list, shortID, maxAgeMs)) return undefined;
    return { record: list.byPartNo.get(partNo) ?? null };
  }

  keep(path: string, shortID: string, result: SearchResult, time: ReadTime): void {
    if (this.writes.hasWritten(shortID, time.epoch)) return;
    setNewest(this.#results, `${path} ${shortID}`, { ...time, result }, MAX_RESULTS);
  }

  keepList(path: string, byPartNo: ReadonlyMap<number, unknown>, time: ReadTime): void {
    this.#list = { ...time, path, byPartNo };
  }

  #isUsable({ sentAt, epoch }: ReadTime, shortID: string, maxAgeMs: number): boolean {
    return monotonicNowMs() - sentAt <= maxAgeMs && !this.writes.hasWritten(shortID, epoch);
  }
}
