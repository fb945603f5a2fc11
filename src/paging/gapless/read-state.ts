import { PaginationError } from "../../errors/index.js";
import type { Checkpoint } from "../checkpoint.js";
import type { Emitted, Emitter } from "../emitter.js";
import { offsetOf, type Page, type PageRead } from "../page.js";
import type { PageStream } from "../prefetch.js";
import { type Overlap, overlapOf } from "./coverage.js";
import type { GaplessPlan } from "./plan.js";

/** So often running no page need hold a record that is known. */
const MAX_FRESH_STARTS = 3;

/** So often running a list may have grown by more than a page brings. */
const MAX_GROWTHS = 3;

/** The last page without a new record, if no other came since. */
interface Stall {
  /** How many answers there were when it was noticed. */
  noticedAt: number;
  totalCount: number;
  /** How many such pages running were put down to the growth of the list. */
  growths: number;
}

/** How far a list has been read without a gap. */
export interface GaplessReadState<T> {
  /** Position up to which the list has been read, as far as is known: others move it all the time. */
  readonly end: number;
  /** Position up to which the list is known to have been read. Less than `end` where that is a guess. */
  readonly low: number;
  /** Records in the list when that was so. */
  readonly totalCount: number;
  /** Which answer told it, from 1; 0 before the first page. */
  readonly arrivedAt: number;
  readonly begun: boolean;
  readonly emitter: Emitter<T>;
  /** What was read ends elsewhere now. */
  moveTo(end: number, totalCount: number): void;
  overlapOf(page: Page<T>): Overlap;
  /** Takes a page that is joined to what was read before, or the first one. Gives its new records. */
  accept(read: PageRead<T>, overlap?: Overlap): T[];
  /** The page as the consumer gets it. */
  emit(read: PageRead<T>, fresh: T[]): Emitted<T>;
}

export function createGaplessReadState<T>(
  stream: PageStream<T>,
  emitter: Emitter<T>,
  plan: GaplessPlan,
  from?: Checkpoint,
): GaplessReadState<T> {
  let base = from?.end;
  let end = base ?? 0;
  let low = end;
  let totalCount = from?.totalCount ?? 0;
  let arrivedAt = 0;
  let freshStarts = 0;
  let stall: Stall | undefined;

  return {
    get end() {
      return end;
    },
    get low() {
      return low;
    },
    get totalCount() {
      return totalCount;
    },
    get arrivedAt() {
      return arrivedAt;
    },
    get begun() {
      return base !== undefined;
    },
    emitter,
    moveTo(there, total) {
      end = low = there;
      totalCount = total;
    },
    overlapOf: (page) => overlapOf(page, emitter),
    accept(read, { continuity, first, last } = overlapOf(read.page, emitter)) {
      const { page } = read;
      const offset = offsetOf(page);
      if (first >= 0) freshStarts = 0;
      else if (base !== undefined) countFreshStart();
      base ??= offset;
      const elapsed = read.arrivedAt - arrivedAt;
      const fresh = emitter.takeUnseen(page.value, firstWanted(base, { first, last }, elapsed));
      if (continuity === "joined" && last >= 0 && elapsed > 0) plan.noteShift((end - (offset + last + 1)) / elapsed);
      low = offset + page.value.length;
      end = continuity === "covered" ? Math.max(low, grownEnd(read)) : low;
      totalCount = page.totalCount;
      arrivedAt = read.arrivedAt;
      return fresh;
    },
    emit(read, fresh) {
      const { page, sentAt } = read;
      const last = stall;
      const excused = last !== undefined && isExcused(read, last);
      if (fresh.length > 0) stall = undefined;
      else if (last === undefined || sentAt >= last.noticedAt) {
        const growths = (last?.growths ?? 0) + (excused ? 1 : 0);
        stall = { noticedAt: stream.answers, totalCount: page.totalCount, growths };
      }
      return emitter.emit(page, fresh, { end, totalCount, pageSize: plan.cap }, excused);
    },
  };

  /** Position 0 was reached without meeting a known record: all have been removed, or many added. Not time and again. */
  function countFreshStart(): void {
    freshStarts += 1;
    if (freshStarts <= MAX_FRESH_STARTS) return;
    throw new PaginationError(
      "Back at the start of the list, none of the records read so far is there: they do not keep their keys, or their order.",
    );
  }

  /**
   * Where what was read most likely ends when a page holds nothing else: the list has grown before it. If it was so for the
   * page before as well, the total does not tell how much, and the search for it begins from the other side.
   */
  function grownEnd(read: PageRead<T>): number {
    const total = read.page.totalCount;
    return stall !== undefined && !isExcused(read, stall) ? total : end + total - totalCount;
  }
}

/** Index of the first record of a page that may be given. What was seen is not given again anyway. */
function firstWanted(base: number, { first, last }: Pick<Overlap, "first" | "last">, elapsed: number): number {
  // On a page older than what was read last, what is unknown among the known has been removed since.
  if (elapsed <= 0) return last + 1;
  // Before a record that is known, an iteration that began further on was not asked for what comes now, and one that goes on
  // from a checkpoint has given all that was there all the time.
  return base === 0 ? 0 : Math.max(0, first);
}

/**
 * True if a page without a new record is no reason to give up: it was asked for before the last such page was noticed, or
 * the list has grown since.
 */
function isExcused({ page, sentAt }: PageRead<unknown>, { noticedAt, totalCount, growths }: Stall): boolean {
  return sentAt < noticedAt || (page.totalCount > totalCount && growths < MAX_GROWTHS);
}
