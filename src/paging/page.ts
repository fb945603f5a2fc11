/**
 * One page of a list.
 *
 * Source: service interface, "Paged envelope".
 */
export interface Page<T> {
  /** The records of this page. In an iteration: those that were not given before. */
  value: T[];
  /** Records that match the query, before paging. */
  totalCount: number;
  /** Number of this page, from 1. */
  page: number;
  /** Page size that the service applied: the one asked for, capped at its maximum. */
  pageSize: number;
  /** Number of pages. */
  pageCount: number;
  /** True when more pages follow this one. */
  hasMore: boolean;
}

/** How far an iteration has come. */
export interface PagingProgress {
  /** Records given so far, those of this page included. */
  received: number;
  /** Records that match the query, as the service said last. */
  totalCount: number;
  /** Number of the page just read. */
  page: number;
  /** Number of pages, as the service said last. */
  pageCount: number;
  /** Requests that this iteration has made. */
  requests: number;
}

/** How a list is read. */
export interface PagingOptions {
  /**
   * Pages fetched while the current one is consumed; `0` for none.
   * @default 1
   */
  readAhead?: number | undefined;
  /**
   * Pages fetched side by side, once the first has told how many there are. Records still come in order.
   * @default 1
   */
  concurrency?: number | undefined;
  /**
   * Misses no record that exists all through the iteration, even while others are added and removed. Costs about a tenth
   * more requests, since pages are read with an overlap.
   * @default false
   */
  gapless?: boolean | undefined;
  /** Called after each page. An error that it throws ends the iteration. */
  onProgress?: ((progress: PagingProgress) => void) | undefined;
}

/** One request for a page. */
export interface PageRequest {
  page: number;
  pageSize: number;
}

/** What a paginator needs of the list that it reads. */
export interface PageSource<T> {
  /** Checks the caller's arguments; throws an `InputValidationError`. Called at the first use of each iteration. */
  prepare(): PagingSettings<T>;
  /** Fetches one page. `further` is false for the first page of an iteration, which is as urgent as any other call. */
  fetch(
    request: PageRequest,
    context: { further: boolean; gapless: boolean; signal?: AbortSignal | undefined },
  ): Promise<Page<T>>;
}

/** What tells a record from others. */
export type RecordKey = string | number;

/** The checked arguments of a list. */
export interface PagingSettings<T> {
  /** The page to begin with. */
  page: number;
  pageSize: number;
  /** The largest page that the service gives. */
  maxPageSize: number;
  readAhead: number;
  concurrency: number;
  gapless: boolean;
  onProgress: ((progress: PagingProgress) => void) | undefined;
  /** Tells two records apart. Without it nothing is de-duplicated, nor is a record for which it gives `undefined`. */
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
}
