import { type EmittedPage, PageEmitter } from "../emitter.js";
import type { IterationSession, Page, ReceivedPage } from "../page.js";
import type { PageStream } from "../page-stream.js";
import type { RecordKey } from "../seen-keys.js";
import { MAX_STALLED_PAGES, stalledError } from "../stall-guard.js";
import { GaplessFrontier, type PageOverlap, pageOverlapOf } from "./frontier.js";
import type { GaplessPlan } from "./plan.js";

/** A page that the frontier has advanced past, with its records that were not seen before. */
export interface AdvancedPage<T> {
  received: ReceivedPage<T>;
  newRecords: T[];
}

/** What a gapless iteration has read and emitted. */
export class GaplessProgress<T> {
  readonly frontier: GaplessFrontier;
  readonly #plan: GaplessPlan;
  readonly #stream: PageStream<T>;
  readonly #emitter: PageEmitter<T>;
  readonly #stalls: GaplessStalls;

  constructor(session: IterationSession<T>, plan: GaplessPlan, stream: PageStream<T>) {
    this.#plan = plan;
    this.#stream = stream;
    this.#emitter = new PageEmitter(session, stream);
    this.#stalls = new GaplessStalls(session);
    this.frontier = new GaplessFrontier(session);
  }

  overlapOf(page: Page<T>): PageOverlap {
    return pageOverlapOf(page, (record) => this.#emitter.isSeen(record));
  }

  isDisjoint(page: Page<T>): boolean {
    return this.overlapOf(page).continuity === "disjoint";
  }

  firstKeyOf({ value: [record] }: Page<T>): RecordKey | undefined {
    return record === undefined ? undefined : this.#emitter.keyOf(record);
  }

  /** Counts that pages are read to close a gap, or searched for. */
  countGapRepair(): void {
    this.#emitter.countGapRepair();
  }

  /** Advances the frontier past a page that is not disjoint, or the first one. From now on its records count as seen, except those that may not be emitted. */
  advancePast(received: ReceivedPage<T>, overlap: PageOverlap): AdvancedPage<T> {
    // All of these compare the page with the frontier before it.
    const shift = this.frontier.shiftShownBy(received, overlap);
    if (shift !== undefined) this.#plan.noteShift(shift);
    const newRecords = this.#emitter.takeUnseen(received.page.value, this.frontier.firstToEmit(received, overlap));
    // If nothing explains a second page without new records, `totalCount` does not show how far the end has moved.
    const isGrowthCredible = newRecords.length > 0 || this.#stalls.isFirst || this.#stalls.isExplained(received);
    this.frontier.advance(received, overlap, { isGrowthCredible });
    return { received, newRecords };
  }

  /** The page for the consumer. Throws if too many pages in a row, this one included, contained nothing new. */
  emitUnlessStalled({ received, newRecords }: AdvancedPage<T>): EmittedPage<T> {
    if (newRecords.length > 0) this.#stalls.reset();
    else this.#stalls.count(received, this.#stream.now);
    const { probableEnd: end, totalCount } = this.frontier;
    return this.#emitter.emit(received.page, newRecords, { end, totalCount, pageSize: this.#plan.maxPageSize });
  }
}

/** Consecutive pages without a new record that growth of the list may explain. */
const MAX_STALLS_EXPLAINED_BY_GROWTH = 3;

/** Consecutive pages of a gapless iteration that contain nothing new. */
class GaplessStalls {
  readonly #label: string;
  /** The last one, and when it was noticed. */
  #last: { noticedAt: number; totalCount: number } | undefined;
  #explainedByGrowth = 0;
  #unexplained = 0;

  constructor({ label }: { readonly label: string }) {
    this.#label = label;
  }

  get isFirst(): boolean {
    return this.#last === undefined;
  }

  /** Whether a page without new records is harmless, after another such page. */
  isExplained(received: ReceivedPage<unknown>): boolean {
    return this.#wasRequestedBefore(received) || this.#growthExplains(received);
  }

  reset(): void {
    this.#last = undefined;
    this.#explainedByGrowth = this.#unexplained = 0;
  }

  /** Counts a page that contains nothing new. Throws after too many. */
  count(received: ReceivedPage<unknown>, now: number): void {
    const { page } = received;
    if (this.#wasRequestedBefore(received)) return;
    if (this.#growthExplains(received)) this.#explainedByGrowth += 1;
    else this.#unexplained += 1;
    this.#last = { noticedAt: now, totalCount: page.totalCount };
    if (page.hasMore && this.#unexplained >= MAX_STALLED_PAGES) throw stalledError(this.#label, page);
  }

  /** Before the last page without a new record was noticed. */
  #wasRequestedBefore({ requestedAt }: ReceivedPage<unknown>): boolean {
    return this.#last !== undefined && requestedAt < this.#last.noticedAt;
  }

  #growthExplains({ page }: ReceivedPage<unknown>): boolean {
    const { totalCount = Infinity } = this.#last ?? {};
    return page.totalCount > totalCount && this.#explainedByGrowth < MAX_STALLS_EXPLAINED_BY_GROWTH;
  }
}
