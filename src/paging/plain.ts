import { type Delivery, type Given, refuseEmptyPageWithMore } from "./delivery.js";
import { type Frontier, frontierAfter, type Range, unreadRange } from "./fall.js";
import type { Page, PageRequest, PagingSettings } from "./page.js";
import type { PagePlan } from "./page-plan.js";
import type { PageStream } from "./page-stream.js";
import { offsetOf, type PageRead } from "./position.js";
import type { Start } from "./start.js";

/** Page after page, all of one size. */
export class PlainPlan implements PagePlan {
  #appliedSize = Infinity;

  after({ page, pageSize }: PageRequest): PageRequest {
    return { page: page + 1, pageSize };
  }

  reach({ page, pageSize }: PageRequest): number {
    return page * Math.min(pageSize, this.#appliedSize);
  }

  learn(_request: PageRequest, page: Page<unknown>): void {
    this.#appliedSize = page.pageSize;
  }
}

/** Reads a list page by page until there is no more, and reads again what moved left while it did so. */
export async function* readPlain<T>(
  { page, pageSize, from }: PagingSettings<T>,
  start: Start<T>,
): AsyncGenerator<Given<T>, void> {
  const first = from ? Math.floor(from.end / from.pageSize) + 1 : page;
  const { stream, delivery } = start(new PlainPlan(), { page: first, pageSize });
  let base = from?.end ?? 0;
  let frontier: Frontier | undefined = from && { ...from, arrivedAt: 0 };
  for (;;) {
    const read = await stream.peek();
    refuseEmptyPageWithMore(read.page);
    const unread = frontier && unreadRange(frontier, read);
    if (frontier && unread) yield* readAgain(stream, delivery, { unread, frontier, next: read, base });
    if (frontier === undefined) base = offsetOf(read.page);
    // Without keys position alone tells what was given: the page that goes on from a checkpoint may begin before it.
    const known = delivery.hasKeys ? 0 : Math.max(0, (frontier?.end ?? 0) - offsetOf(read.page));
    frontier = frontierAfter(read);
    const given = delivery.give(read.page, delivery.fresh(read.page.value, known), frontier);
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
async function* readAgain<T>(
  stream: PageStream<T>,
  delivery: Delivery<T>,
  { unread, frontier, next, base }: { unread: Range; frontier: Frontier; next: PageRead<T>; base: number },
): AsyncGenerator<Given<T>, void> {
  delivery.gapsRepaired += 1;
  const { pageSize, totalCount } = next.page;
  const found: { page: Page<T>; fresh: T[] }[] = [];
  let { from } = unread;
  let lowest = totalCount;
  for (let number = Math.ceil(unread.to / pageSize); number >= 1 && number * pageSize > from; number -= 1) {
    const { page } = await stream.read({ page: number, pageSize: next.request.pageSize });
    refuseEmptyPageWithMore(page);
    from = Math.max(0, from - Math.max(0, lowest - page.totalCount));
    lowest = Math.min(lowest, page.totalCount);
    const fresh = delivery.fresh(candidates(page, { from, to: unread.to }, delivery.hasKeys, base));
    if (fresh.length > 0) found.push({ page, fresh });
  }
  for (const { page, fresh } of found.reverse()) yield delivery.give(page, fresh, frontier, true);
}

/** All records of the page, or, where records cannot be told apart or were never asked for, those in the range alone. */
function candidates<T>(page: Page<T>, { from, to }: Range, hasKeys: boolean, base: number): T[] {
  const offset = offsetOf(page);
  if (!hasKeys) return page.value.slice(Math.max(0, from - offset), Math.max(0, to - offset));
  return offset < base ? page.value.slice(Math.max(0, from - offset)) : page.value;
}
