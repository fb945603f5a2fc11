import type { Page, PageRequest } from "./page.js";

/** A page as it was read: what was asked, what came, and when. */
export interface PageRead<T> {
  request: PageRequest;
  page: Page<T>;
  /** How many answers the iteration had when this page was asked for. */
  sentAt: number;
  /** Which of the answers this one is, from 1. */
  arrivedAt: number;
}

/** Position of the first record of a page, from 0. By the applied page size, since the one asked for may have been capped. */
export const offsetOf = (page: Page<unknown>) => (page.page - 1) * page.pageSize;

/** True if nothing is left of the list. Where there are records, or more pages, a count of 0 is wrong. */
export const isListEmpty = ({ totalCount, value, hasMore }: Page<unknown>) =>
  totalCount === 0 && value.length === 0 && !hasMore;

/** Below this size pages can hardly overlap, so a smaller size that the caller asks for is not kept to. */
const MIN_OVERLAPPING_SIZE = 25;

/** The largest page size that gapless reading asks for. */
export const sizeThatOverlaps = (pageSize: number, maxPageSize: number) =>
  Math.min(maxPageSize, Math.max(pageSize, MIN_OVERLAPPING_SIZE));
