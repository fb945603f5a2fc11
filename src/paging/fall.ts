import type { PageRead } from "./position.js";
import { offsetOf } from "./position.js";

/** How far a list has been read: up to `end`, when it had `totalCount` records. */
export interface Frontier {
  end: number;
  totalCount: number;
  pageSize: number;
  arrivedAt: number;
}

/** Positions from `from` up to, not including, `to`. */
export interface Range {
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
export function unreadRange(frontier: Frontier, next: PageRead<unknown>): Range | undefined {
  const start = offsetOf(next.page);
  const fall = Math.max(0, frontier.totalCount - next.page.totalCount);
  const from = Math.max(0, Math.min(frontier.end, start) - fall);
  const to = next.sentAt >= frontier.arrivedAt ? start : start + fall;
  const inList = { from, to: Math.min(to, next.page.totalCount) };
  return inList.from < inList.to && (fall > 0 || frontier.end < start) ? inList : undefined;
}
