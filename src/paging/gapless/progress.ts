import { type EmittedPage, PageEmitter } from "../emitter.js";
import type { IterationSession, Page, PageSession, ReceivedPage } from "../page.js";
import type { PageStream } from "../page-stream.js";
import type { RecordKey } from "../seen-keys.js";
import { StallGuard } from "../stall-guard.js";
import { GaplessFrontier, type PageOverlap, pageOverlapOf } from "./frontier.js";
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
    this.#stalls.note(received, stallMeaning, newRecords.length, this.#stream.now);
    const { probableEnd: end, totalCount } = this.frontier;
    return this.#emitter.emit(received.page, newRecords, { end, totalCount, pageSize: this.#plan.maxPageSize });
  }
}

/** Consecutive pages without a new record that growth of the list may explain. */
const MAX_STALLS_EXPLAINED_BY_GROWTH = 3;

/** The last page without a new record, if none with one has followed. */
interface StalledPage {
  noticedAt: number;
  totalCount: number;
  /** How many consecutive pages without a new record were explained by growth of the list. */
  growths: number;
}

/**
 * What it would mean if a page contained nothing new. It would be the `first` one; or `explained` after another, and no reason
 * to stop, if it was requested before that was noticed, or if the list has grown since; otherwise `unexplained`.
 */
type StallMeaning = "first" | "explained" | "unexplained";

/** Pages of a gapless iteration that contain nothing new. */
class GaplessStalls {
  readonly #guard: StallGuard;
  #last: StalledPage | undefined;

  constructor(session: Pick<PageSession<never>, "label" | "keyOf">) {
    this.#guard = new StallGuard(session);
  }

  meaningOf({ page, requestedAt }: ReceivedPage<unknown>): StallMeaning {
    if (!this.#last) return "first";
    const { noticedAt, totalCount, growths } = this.#last;
    const hasGrown = page.totalCount > totalCount && growths < MAX_STALLS_EXPLAINED_BY_GROWTH;
    return requestedAt < noticedAt || hasGrown ? "explained" : "unexplained";
  }

  /** `responses`: how many have been received. Throws after too many pages that are not explained. */
  note(
    { page, requestedAt }: ReceivedPage<unknown>,
    meaning: StallMeaning,
    newRecords: number,
    responses: number,
  ): void {
    const isExplained = meaning === "explained";
    const last = this.#last;
    if (newRecords > 0) this.#last = undefined;
    else if (last === undefined || requestedAt >= last.noticedAt) {
      const growths = (last?.growths ?? 0) + (isExplained ? 1 : 0);
      this.#last = { noticedAt: responses, totalCount: page.totalCount, growths };
    }
    this.#guard.note(page, newRecords, isExplained);
  }
}
