import { leftmostPageReaching } from "../choose-page.js";
import type { EmittedPage } from "../emitter.js";
import { type IterationSession, isListEmpty, type PageRequest, startOfPage } from "../page.js";
import { PageStream } from "../page-stream.js";
import type { RecordKey } from "../seen-keys.js";
import { refuseEmptyPageWithMore } from "../stall-guard.js";
import { fillGap, type GaplessParts } from "./fill-gap.js";
import { GaplessPlan } from "./plan.js";
import { GaplessProgress } from "./progress.js";
import { ResumeSearch } from "./resume-search.js";

/**
 * Reads a list without missing a record that exists the whole time, whatever is added and removed meanwhile.
 *
 * **Why nothing is missed.** Pages are cut by position, and positions move. Sort values prove nothing, since the service
 * ignores an unknown sort column. Records seen before do: a page is one contiguous run of the list at one moment, and records
 * keep their order. If a page contains a record that was seen, no record behind the records read so far stands before the
 * page, so it can be emitted, whenever it was read. Nothing precedes position 0, so a page that begins there needs no proof.
 *
 * **States of an iteration.**
 * - *Beginning*: the first page needs no proof. After a checkpoint, a page is searched that contains one of the records
 *   emitted last (`ResumeSearch`); if there is none, the list is read from position 0.
 * - *Overlapping*: the next page contains a record seen before. It is emitted, and the frontier moves to its end. Each
 *   further page is requested with a number and size that make it overlap (`GaplessPlan`).
 * - *Gap*: the next page is disjoint. It becomes the target, and pages are read from the frontier towards it ({@link fillGap})
 *   until the state is Overlapping again: the target overlaps (`closed`), or is of no more use (`target-obsolete`).
 * - *Ended*: a page has no `hasMore`, or the list is empty. A gap that many pages in a row do not make
 *   smaller is a `PaginationError`.
 *
 * **Parts.** `iteratePages` takes one page at a time for the consumer and saves its checkpoint. Below it:
 * - `GaplessReader`: the states.
 * - `PageStream`: sends the requests, some of them ahead, and returns the pages in the order of the plan.
 * - `GaplessPlan`: which page comes next, and how many are read at the same time.
 * - `GaplessProgress`: what was read and emitted. `GaplessFrontier` is the end of what was read, `PageEmitter` recognises
 *   records by their keys, `GaplessStalls` judges pages that contain nothing new.
 * - `fillGap` with `GapSearch`, and `ResumeSearch`: which page may show where the end of what was read is now.
 *
 * The measurements are in docs/decisions/005-gapless-reading.md.
 */
export class GaplessReader<T> {
  readonly #session: IterationSession<T>;
  readonly #parts: GaplessParts<T>;

  constructor(session: IterationSession<T>) {
    const plan = new GaplessPlan(session);
    const stream = new PageStream(session, plan);
    const progress = new GaplessProgress(session, plan, stream);
    this.#session = session;
    this.#parts = { label: session.label, plan, stream, progress };
  }

  async *pages(): AsyncGenerator<EmittedPage<T>, void> {
    const { label, plan, stream, progress } = this.#parts;
    const { page: first, pageSize, from } = this.#session;
    if (from) await this.#resume(from.end, from.keys);
    else stream.continueWith({ page: first, pageSize });
    for (;;) {
      const received = await stream.peek();
      const { page } = received;
      refuseEmptyPageWithMore(page, label);
      if (progress.frontier.hasBegun && isListEmpty(page)) return;
      if (progress.frontier.hasBegun && progress.isDisjoint(page)) {
        plan.noteGap();
        progress.countGapRepair();
        const gapEnd = yield* fillGap(page, this.#parts);
        if (gapEnd === "list-ended") return;
        if (gapEnd === "target-obsolete") {
          stream.continueWith(plan.requestAfter(progress.frontier.probableEnd));
          continue;
        }
        // Closed: the page overlaps now.
      }
      const emitted = progress.emit(progress.advancePast(received));
      plan.noteOverlap();
      stream.take(page.hasMore ? this.#nextRequestOverride() : undefined);
      yield emitted;
      if (!page.hasMore) return;
    }
  }

  close(): void {
    this.#parts.stream.close();
  }

  /**
   * Continues after the iteration that read up to `end` and emitted `keys` last: at the first planned page if it contains one
   * of them, else at a page found by a search. If the search finds none, the list is read from its start.
   */
  async #resume(end: number, keys: readonly RecordKey[]): Promise<void> {
    const { plan, stream, progress } = this.#parts;
    stream.continueWith(plan.requestAfter(end));
    let received = await stream.peek();
    if (isListEmpty(received.page) || !progress.isDisjoint(received.page)) return;
    progress.countGapRepair();
    const { totalCount } = progress.frontier;
    // The best first guess: all records that were added or removed since were before the end.
    const search = new ResumeSearch(keys, (total) => end + total - totalCount);
    let found = 0;
    while (found === 0) {
      const position = search.nextPosition(received.page, progress.firstKeyOf(received.page));
      if (position === undefined) break;
      // An empty page lies behind the end. If all are empty, the first page that is emitted is refused.
      received = await stream.fetchUnplanned(leftmostPageReaching(position, plan.maxPageSize));
      const { last } = progress.overlapOf(received.page);
      if (last >= 0) found = startOfPage(received.page) + last + 1;
    }
    progress.frontier.moveTo(found, received);
    stream.continueWith(plan.requestAfter(found));
  }

  /** The request to continue with if the planned pages contain nothing new, or leave a gap even if nothing changes. */
  #nextRequestOverride(): PageRequest | undefined {
    const { plan, stream, progress } = this.#parts;
    const { probableEnd: end, receivedAs } = progress.frontier;
    // The first planned page is the one that is about to be taken.
    const [, ...planned] = stream.planned;
    const [next] = planned;
    if (next === undefined) return plan.requestAfter(end, 1 + stream.responses - receivedAs);
    const continuesWithoutGap =
      plan.expectedStartOf(next) < end && planned.some((request) => plan.expectedEndOf(request) > end);
    return continuesWithoutGap ? undefined : plan.requestAfter(end);
  }
}
