/** Identifies a record of a list. */
export type RecordKey = string | number;

/**
 * One page of a list.
 *
 * Source: service interface, "Paged envelope".
 */
export interface Page<T> {
  /** The records of this page. In an iteration, only the records that were not returned before. */
  value: T[];
  /** Records that match the query, before paging. */
  totalCount: number;
  /** Number of this page, from 1. */
  page: number;
  /** Page size that the service applied, in records: the requested size, but at most the maximum of the service. */
  pageSize: number;
  /** Number of pages. */
  pageCount: number;
  /** True if more pages follow this one. */
  hasMore: boolean;
}

/** How a list is read. */
export interface PagingOptions {
  /**
   * How many further pages are requested in parallel while you process a page; `0` for none. Records are returned in
   * order. Leaving the loop aborts these requests.
   * @default 1
   * @example
   * // A fast reader: three pages are on their way while one is processed.
   * for await (const lot of client.inventory.listLots({}, { readAhead: 3 }))
   *   console.log(lot.recNo);
   */
  readAhead?: number | undefined;
  /**
   * Returns every record that exists for the whole iteration exactly once, even while others are added and removed. Pages
   * overlap, which costs about a tenth more requests, and the list is sorted by its key. If the service does not keep that
   * order, records may be missed; a warning is logged once. Pages that the service caps at 8 records or less cannot always
   * overlap: then each page is compared with the page before.
   * @default false
   * @example
   * // Receipts are booked meanwhile: no lot may be missed.
   * for await (const lot of client.inventory.listLots({}, { gapless: true }))
   *   console.log(lot.recNo);
   */
  gapless?: boolean | undefined;
}

/** One request for a page. */
export interface PageRequest {
  page: number;
  pageSize: number;
}

/** One use of a list (an iteration or a single page), with checked arguments. */
export interface PageSession<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** The first page of the iteration. */
  first: PageRequest;
  /** The size of further pages. */
  pageSize: number;
  /** The largest page that the service returns. */
  maxPageSize: number;
  readAhead: number;
  gapless: boolean;
  /** Returns the key of a record. A record without a key is not de-duplicated. */
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /**
   * Fetches one page. The first page of an iteration has the priority of any other read; further pages have the priority "low".
   * `signal` belongs to the iteration, which adds the caller's line to an error itself.
   */
  fetch(request: PageRequest, context: { isFurther: boolean; signal?: AbortSignal }): Promise<Page<T>>;
  /** Logs that the list is short, once per client and list. */
  warn(message: string): void;
}

/** Position of the first record of the iteration, from 0. */
export const startOfIteration = ({ first, maxPageSize }: Pick<PageSession<never>, "first" | "maxPageSize">) =>
  (first.page - 1) * Math.min(first.pageSize, maxPageSize);

/** Returns the position of the first record of a page, from 0. It depends on the applied page size, which the service may cap. */
export const startOfPage = (page: Page<unknown>) => (page.page - 1) * page.pageSize;

/** Position after the last record of a page. */
export const endOfPage = (page: Page<unknown>) => startOfPage(page) + page.value.length;

/** Whether the list has no records. A `totalCount` of 0 is not believed if the page has records or more pages follow. */
export const isListEmpty = ({ totalCount, value, hasMore }: Page<unknown>) =>
  totalCount === 0 && value.length === 0 && !hasMore;

/** Returns the largest page size to request from now on. If the service has applied a smaller size than requested, that is its cap. */
export const pageSizeWithinCap = (maxPageSize: number, request: PageRequest, applied: number) =>
  applied >= 1 && applied < request.pageSize ? Math.min(maxPageSize, applied) : maxPageSize;

/** The smallest page size that is requested with overlap. Smaller pages can hardly overlap. */
const MIN_OVERLAPPING_SIZE = 25;

/** Returns the size of overlapping pages, which is at least the caller's. */
export const sizeWithOverlap = (pageSize: number, maxPageSize: number) =>
  Math.min(maxPageSize, Math.max(pageSize, MIN_OVERLAPPING_SIZE));
