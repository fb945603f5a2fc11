import { type EmittedPage, PageEmitter } from "../emitter.js";
import type { IterationSession, Page, ReceivedPage } from "../page.js";
import type { PageStream } from "../page-stream.js";
import type { RecordKey } from "../seen-keys.js";
import { GaplessFrontier, type PageOverlap, pageOverlapOf } from "./frontier.js";
import { GaplessStalls, type StallMeaning } from "./gapless-stalls.js";
import type { GaplessPlan } from "./plan.js";

/** A page that the frontier has advanced past, with its records that were not seen before. */
export interface AdvancedPage<T> {
  received: ReceivedPage<T>;
  newRecords: T[];
  /** If there are none. */
  stallMeaning: StallMeaning;
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
    const shift = this.frontier.shiftShownBy(received, overlap);
    const stallMeaning = this.#stalls.meaningOf(received);
    // If nothing explains a second page without new records, `totalCount` does not show how far the end has moved.
    const index = this.frontier.advance(received, overlap, { isGrowthCredible: stallMeaning !== "unexplained" });
    if (shift !== undefined) this.#plan.noteShift(shift);
    return { received, newRecords: this.#emitter.takeUnseen(received.page.value, index), stallMeaning };
  }

  /** The page for the consumer. Throws if too many pages in a row, this one included, contained nothing new. */
  emitUnlessStalled({ received, newRecords, stallMeaning }: AdvancedPage<T>): EmittedPage<T> {
    this.#stalls.note(received, stallMeaning, newRecords.length, this.#stream.responses);
    const { probableEnd: end, totalCount } = this.frontier;
    return this.#emitter.emit(received.page, newRecords, { end, totalCount, pageSize: this.#plan.maxPageSize });
  }
}
