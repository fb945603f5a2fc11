import { type Emitted, type Emitter, refuseEmptyPageWithMore } from "./emitter.js";
import { offsetOf, type Page, type PageRead, type PageRequest, type PagingSettings } from "./page.js";
import type { OpenStream, PagePlan, PageStream } from "./prefetch.js";

/** Page after page, all of one size. */
export class SequentialPlan implements PagePlan {
  #appliedSize = Infinity;

  after({ page, pageSize }: PageRequest): PageRequest {
    return { page: page + 1, pageSize };
  }

  endOf({ page, pageSize }: PageRequest): number {
    return page * Math.min(pageSize, this.#appliedSize);
  }

  noteAppliedSize(_request: PageRequest, page: Page<unknown>): void {
    this.#appliedSize = page.pageSize;
  }
}

/** Reads a list page by page until there is no more, and reads again what moved left while it did so. */
export async function* readSequentially<T>(
  { page, pageSize, from }: PagingSettings<T>,
  openStream: OpenStream<T>,
): AsyncGenerator<Emitted<T>, void> {
  const first = from ? Math.floor(from.end / from.pageSize) + 1 : page;
  const { stream, emitter } = openStream(new SequentialPlan(), { page: first, pageSize });
  let base = from?.end ?? 0;
  let frontier: Frontier | undefined = from && { ...from, arrivedAt: 0 };
  for (;;) {
    const read = await stream.peek();
    refuseEmptyPageWithMore(read.page);
    const unread = frontier && missedRange(frontier, read);
    if (frontier && unread) yield* rereadRange(stream, emitter, { unread, frontier, next: read, base });
    if (frontier === undefined) base = offsetOf(read.page);
    // Without keys position alone tells what was given: the page that goes on from a checkpoint may begin before it.
    const known = emitter.hasKeys ? 0 : Math.max(0, (frontier?.end ?? 0) - offsetOf(read.page));
    frontier = frontierAfter(read);
    const given = emitter.emit(read.page, emitter.takeUnseen(read.page.value, known), frontier);
    stream.take();
    yield given;
    if (!read.page.hasMore) return;
  }
}

/**
 * Reads the pages that cover a range and gives what is new in them, in the order of the list.
 *
 * They are read from the last to the first: what moves left meanwhile moves towards the pages still to be read, so that one
 * pass is enough however fast the list shrinks. Until the pass is over, only new records are kept.
 */
async function* rereadRange<T>(
  stream: PageStream<T>,
  emitter: Emitter<T>,
  { unread, frontier, next, base }: { unread: PositionRange; frontier: Frontier; next: PageRead<T>; base: number },
): AsyncGenerator<Emitted<T>, void> {
  emitter.gapsRepaired += 1;
  const { pageSize, totalCount } = next.page;
  const found: { page: Page<T>; fresh: T[] }[] = [];
  let { from } = unread;
  let lowest = totalCount;
  for (let number = Math.ceil(unread.to / pageSize); number >= 1 && number * pageSize > from; number -= 1) {
    const { page } = await stream.read({ page: number, pageSize: next.request.pageSize });
    refuseEmptyPageWithMore(page);
    from = Math.max(0, from - Math.max(0, lowest - page.totalCount));
    lowest = Math.min(lowest, page.totalCount);
    const fresh = emitter.takeUnseen(candidates(page, { from, to: unread.to }, emitter.hasKeys, base));
    if (fresh.length > 0) found.push({ page, fresh });
  }
  for (const { page, fresh } of found.reverse()) yield emitter.emit(page, fresh, frontier, true);
}

/** All records of the page, or, where records cannot be told apart or were never asked for, those in the range alone. */
function candidates<T>(page: Page<T>, { from, to }: PositionRange, hasKeys: boolean, base: number): T[] {
  const offset = offsetOf(page);
  if (!hasKeys) return page.value.slice(Math.max(0, from - offset), Math.max(0, to - offset));
  return offset < base ? page.value.slice(Math.max(0, from - offset)) : page.value;
}

/** How far a list has been read: up to `end`, when it had `totalCount` records. */
export interface Frontier {
  end: number;
  totalCount: number;
  pageSize: number;
  arrivedAt: number;
}

/** Positions from `from` up to, not including, `to`. */
export interface PositionRange {
  from: number;
  to: number;
}

export const frontierAfter = ({ page, arrivedAt }: PageRead<unknown>): Frontier => ({
  end: offsetOf(page) + (page.hasMore ? page.pageSize : page.value.length),
  totalCount: page.totalCount,
  pageSize: page.pageSize,
  arrivedAt,
});

/**
 * Where records may now be that neither the pages up to the frontier nor `next` have shown; nothing if none can be missing.
 *
 * If the total fell by n, up to n records have moved from behind the frontier to before it. If `next` was not sent after the
 * frontier's answer came, it may also be the older of the two: then up to n records were pushed the other way in between.
 */
export function missedRange(frontier: Frontier, next: PageRead<unknown>): PositionRange | undefined {
  const start = offsetOf(next.page);
  const fall = Math.max(0, frontier.totalCount - next.page.totalCount);
  const from = Math.max(0, Math.min(frontier.end, start) - fall);
  const to = next.sentAt >= frontier.arrivedAt ? start : start + fall;
  const inList = { from, to: Math.min(to, next.page.totalCount) };
  return inList.from < inList.to && (fall > 0 || frontier.end < start) ? inList : undefined;
}
