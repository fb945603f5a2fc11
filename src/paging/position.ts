import type { Page, PageRequest } from "./page.js";

/** A page as it was read: what was asked, what came, and when. */
export interface PageRead<T> {
  request: PageRequest;
  page: Page<T>;
  /** Moments on the stream's own counter: only their order means anything. */
  sentAt: number;
  arrivedAt: number;
}

/** Position of the first record of a page, from 0. By the applied page size, since the one asked for may have been capped. */
export const offsetOf = (page: Page<unknown>) => (page.page - 1) * page.pageSize;
