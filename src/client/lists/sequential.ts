import { type EmittedPage, PageEmitter } from "./emitter.js";
import { type IterationSession, type Page, type PageRequest, type ReceivedPage, startOfPage } from "./page.js";
import { type PagePlan, PageStream } from "./page-stream.js";
import { refuseEmptyPageWithMore, StallGuard } from "./stall-guard.js";

/** Reads a list page by page. If the list shrinks meanwhile, reads again what may have moved. */
export class SequentialReader<T> {
  readonly #session: IterationSession<T>;
  readonly #stream: PageStream<T>;
  readonly #emitter: PageEmitter<T>;
  readonly #stalls: StallGuard;
  /** Position of the first record of the iteration. */
  #startPosition = 0;

  constructor(session: IterationSession<T>) {
    this.#session = session;
    this.#stream = new PageStream(session, new SequentialPlan(session.concurrency));
    this.#emitter = new PageEmitter(session, this.#stream);
    this.#stalls = new StallGuard(session);
  }

  async *pages(): AsyncGenerator<EmittedPage<T>, void> {
    const { page, pageSize, from } = this.#session;
    const first = from ? Math.floor(from.end / from.pageSize) + 1 : page;
    this.#stream.continueWith({ page: first, pageSize });
    this.#startPosition = from?.end ?? 0;
    let frontier: SequentialFrontier | undefined = from && { ...from, receivedAt: 0 };
    for (;;) {
      const received = await this.#stream.peek();
      refuseEmptyPageWithMore(received.page, this.#session.label);
      const missed = frontier && possiblyMissedRange(frontier, received);
      if (frontier && missed) yield* this.#rereadRange(missed, frontier, received);
      if (frontier === undefined) this.#startPosition = startOfPage(received.page);
      // Without keys only the position shows what was emitted: the page after a checkpoint may begin before it.
      const emittedBefore = this.#emitter.hasKeys ? 0 : Math.max(0, (frontier?.end ?? 0) - startOfPage(received.page));
      frontier = frontierAfterPage(received);
      const newRecords = this.#emitter.takeUnseen(received.page.value, emittedBefore);
      this.#stalls.note(received.page, newRecords.length);
      const emitted = this.#emitter.emit(received.page, newRecords, frontier);
      this.#stream.take();
      yield emitted;
      if (!received.page.hasMore) return;
    }
  }

  close(): void {
    this.#stream.close();
  }

  /**
   * Reads the pages that cover a range and emits their new records, in the order of the list.
   *
   * The pages are read from the last to the first. Records that move left meanwhile move towards the pages still to be read,
   * so one pass is enough however fast the list shrinks. Until the pass has ended, only new records are kept in memory.
   */
  async *#rereadRange(
    missed: PositionRange,
    frontier: SequentialFrontier,
    next: ReceivedPage<T>,
  ): AsyncGenerator<EmittedPage<T>, void> {
    this.#emitter.countGapRepair();
    const { pageSize, totalCount } = next.page;
    const found: { page: Page<T>; newRecords: T[] }[] = [];
    let { from } = missed;
    let lowestTotal = totalCount;
    for (let number = Math.ceil(missed.to / pageSize); number >= 1 && number * pageSize > from; number -= 1) {
      const { page } = await this.#stream.fetchUnplanned({ page: number, pageSize: next.request.pageSize });
      refuseEmptyPageWithMore(page, this.#session.label);
      from = Math.max(0, from - Math.max(0, lowestTotal - page.totalCount));
      lowestTotal = Math.min(lowestTotal, page.totalCount);
      const newRecords = this.#emitter.takeUnseen(this.#emittableRecords(page, { from, to: missed.to }));
      if (newRecords.length > 0) found.push({ page, newRecords });
    }
    for (const { page, newRecords } of found.reverse()) {
      this.#stalls.note(page, newRecords.length, true);
      yield this.#emitter.emit(page, newRecords, frontier);
    }
  }

  /** The records of a page that may be emitted: those in the range if they have no keys or precede the iteration, else all. */
  #emittableRecords(page: Page<T>, { from, to }: PositionRange): T[] {
    const offset = startOfPage(page);
    if (!this.#emitter.hasKeys) return page.value.slice(Math.max(0, from - offset), Math.max(0, to - offset));
    return offset < this.#startPosition ? page.value.slice(Math.max(0, from - offset)) : page.value;
  }
}

/** Page after page, all of one size. */
class SequentialPlan implements PagePlan {
  #appliedSize = Infinity;

  constructor(readonly maxInFlight: number) {}

  after({ page, pageSize }: PageRequest): PageRequest {
    return { page: page + 1, pageSize };
  }

  expectedEndOf({ page, pageSize }: PageRequest): number {
    return page * Math.min(pageSize, this.#appliedSize);
  }

  noteAppliedSize(_request: PageRequest, page: Page<unknown>): void {
    this.#appliedSize = page.pageSize;
  }
}

/** How far a list has been read: up to `end`, when it had `totalCount` records. */
interface SequentialFrontier {
  end: number;
  totalCount: number;
  pageSize: number;
  receivedAt: number;
}

/** Positions from `from` up to, not including, `to`. */
interface PositionRange {
  from: number;
  to: number;
}

const frontierAfterPage = ({ page, receivedAt }: ReceivedPage<unknown>): SequentialFrontier => ({
  end: startOfPage(page) + (page.hasMore ? page.pageSize : page.value.length),
  totalCount: page.totalCount,
  pageSize: page.pageSize,
  receivedAt,
});

/**
 * The range of records that neither the pages up to the frontier nor `next` contained. `undefined` if none can be missing.
 *
 * If the list shrank by n records, up to n records have moved from after the frontier to before it. If `next` was sent before
 * the frontier's response was received, it may be the older of the two. Then up to n records have moved the other way.
 */
export function possiblyMissedRange(
  frontier: SequentialFrontier,
  next: ReceivedPage<unknown>,
): PositionRange | undefined {
  const start = startOfPage(next.page);
  const shrinkage = Math.max(0, frontier.totalCount - next.page.totalCount);
  const from = Math.max(0, Math.min(frontier.end, start) - shrinkage);
  const to = next.requestedAt >= frontier.receivedAt ? start : start + shrinkage;
  const inList = { from, to: Math.min(to, next.page.totalCount) };
  return inList.from < inList.to && (shrinkage > 0 || frontier.end < start) ? inList : undefined;
}
