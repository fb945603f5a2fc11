import { PaginationError } from "../errors/index.js";
import type { Checkpoint } from "./checkpoint.js";
import { type Overlap, overlapOf } from "./continuity.js";
import type { Delivery, Given } from "./delivery.js";
import type { GaplessPlan } from "./gapless-plan.js";
import type { Page } from "./page.js";
import type { PageStream } from "./page-stream.js";
import { offsetOf, type PageRead } from "./position.js";

/** So often running no page need hold a record that is known. */
const MAX_FRESH_STARTS = 3;

/** So often running a list may have grown by more than a page brings. */
const MAX_GROWTHS = 3;

/** The last page without a new record, if no other came since. */
interface Barren {
  /** How many answers there were when it was noticed. */
  noticedAt: number;
  totalCount: number;
  /** How many such pages running were put down to the growth of the list. */
  growths: number;
}

/** How far a list has been read without a gap. */
export class GaplessProgress<T> {
  /** Position up to which the list has been read, as far as is known: others move it all the time. */
  end = 0;
  /** Position up to which the list is known to have been read. Less than `end` where that is a guess. */
  low = 0;
  /** Records in the list when that was so. */
  totalCount = 0;
  /** Which answer told it, from 1; 0 before the first page. */
  arrivedAt = 0;

  readonly delivery: Delivery<T>;
  readonly #stream: PageStream<T>;
  readonly #plan: GaplessPlan;
  #base: number | undefined;
  #freshStarts = 0;
  #barren: Barren | undefined;

  constructor(stream: PageStream<T>, delivery: Delivery<T>, plan: GaplessPlan, from?: Checkpoint) {
    this.#stream = stream;
    this.delivery = delivery;
    this.#plan = plan;
    if (from === undefined) return;
    this.#base = from.end;
    this.moveTo(from.end, from.totalCount);
  }

  get begun(): boolean {
    return this.#base !== undefined;
  }

  /** What was read ends elsewhere now. */
  moveTo(end: number, totalCount: number): void {
    this.end = end;
    this.low = end;
    this.totalCount = totalCount;
  }

  overlapOf(page: Page<T>): Overlap {
    return overlapOf(page, this.delivery);
  }

  /** Takes a page that is joined to what was read before, or the first one. Gives its new records. */
  accept(read: PageRead<T>, { continuity, first, last }: Overlap = this.overlapOf(read.page)): T[] {
    const { value, totalCount } = read.page;
    const offset = offsetOf(read.page);
    if (first >= 0) this.#freshStarts = 0;
    else if (this.begun) this.#countFreshStart();
    this.#base ??= offset;
    const elapsed = read.arrivedAt - this.arrivedAt;
    const fresh = this.delivery.fresh(value, this.#firstWanted({ first, last }, elapsed));
    if (continuity === "joined" && last >= 0 && elapsed > 0) {
      this.#plan.noteShift((this.end - (offset + last + 1)) / elapsed);
    }
    this.low = offset + value.length;
    this.end = continuity === "covered" ? Math.max(this.low, this.#grownEnd(read)) : this.low;
    this.totalCount = totalCount;
    this.arrivedAt = read.arrivedAt;
    return fresh;
  }

  /** Position 0 was reached without meeting a known record: all have been removed, or many added. Not time and again. */
  #countFreshStart(): void {
    this.#freshStarts += 1;
    if (this.#freshStarts <= MAX_FRESH_STARTS) return;
    throw new PaginationError(
      "Back at the start of the list, none of the records read so far is there: they do not keep their keys, or their order.",
    );
  }

  /** Index of the first record of a page that may be given. What was seen is not given again anyway. */
  #firstWanted({ first, last }: Pick<Overlap, "first" | "last">, elapsed: number): number {
    // On a page older than what was read last, what is unknown among the known has been removed since.
    if (elapsed <= 0) return last + 1;
    // Before a record that is known, an iteration that began further on was not asked for what comes now, and one that goes on
    // from a checkpoint has given all that was there all the time.
    return this.#base ? Math.max(0, first) : 0;
  }

  /**
   * Where what was read most likely ends when a page holds nothing else: the list has grown before it. If it was so for the
   * page before as well, the total does not tell how much, and the search for it begins from the other side.
   */
  #grownEnd(read: PageRead<T>): number {
    const { totalCount } = read.page;
    const again = this.#barren !== undefined && !this.#isExcused(read, this.#barren);
    return again ? totalCount : this.end + totalCount - this.totalCount;
  }

  /**
   * True if a page without a new record is no reason to give up: it was asked for before the last such page was noticed, or
   * the list has grown since.
   */
  #isExcused({ page, sentAt }: PageRead<T>, { noticedAt, totalCount, growths }: Barren): boolean {
    return sentAt < noticedAt || (page.totalCount > totalCount && growths < MAX_GROWTHS);
  }

  /** The page as the consumer gets it. */
  give(read: PageRead<T>, fresh: T[]): Given<T> {
    const last = this.#barren;
    const excused = last !== undefined && this.#isExcused(read, last);
    if (fresh.length > 0) {
      this.#barren = undefined;
    } else if (last === undefined || read.sentAt >= last.noticedAt) {
      const { totalCount } = read.page;
      this.#barren = { noticedAt: this.#stream.answers, totalCount, growths: (last?.growths ?? 0) + (excused ? 1 : 0) };
    }
    const { end, totalCount } = this;
    return this.delivery.give(read.page, fresh, { end, totalCount, pageSize: this.#plan.cap }, excused);
  }
}
