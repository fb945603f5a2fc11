import type { Checkpoint } from "./checkpoint.js";
import type { RecordKey } from "./seen-keys.js";

/**
 * One page of a list.
 *
 * Source: service interface, "Paged envelope".
 */
export interface Page<T> {
  /** The records of this page. In an iteration: those that were not returned before. */
  value: T[];
  /** Records that match the query, before paging. */
  totalCount: number;
  /** Number of this page, from 1. */
  page: number;
  /** Page size that the service applied, in records: the requested one, capped at its maximum. */
  pageSize: number;
  /** Number of pages. */
  pageCount: number;
  /** True if more pages follow this one. */
  hasMore: boolean;
}

/** The progress of an iteration. */
export interface PagingProgress {
  /** Records returned so far, those of this page included. */
  received: number;
  /** Records that match the query, as last reported by the service. */
  totalCount: number;
  /** Number of the page just read. */
  page: number;
  /** Number of pages, as last reported by the service. */
  pageCount: number;
  /** Requests that this iteration has sent. */
  requests: number;
  /**
   * Records that were left out because this iteration has returned them before, or the iteration whose checkpoint it
   * continues from. With `gapless`, most of them are in the overlap of two pages.
   */
  duplicates: number;
  /**
   * How often pages were read again, or searched for, because records had moved: with `gapless` after a gap between two
   * pages, without it after a decrease of `totalCount`.
   */
  gapsRepaired: number;
  /**
   * Estimated time for the rest of the list in ms, at the pace of this iteration and within the rate limit; 0 at the
   * end, null if it is unknown.
   */
  etaMs: number | null;
}

/** Estimated cost of reading a list. */
export interface Estimate {
  /** Records that the iteration will return: those from its first page on, or after the checkpoint that it continues from. */
  records: number;
  /** Pages that contain them, of the size that the service applies. At least 1. */
  pages: number;
  /** Requests for these pages. With `gapless` more than pages, by a measured share. */
  requests: number;
  /**
   * Estimated duration in ms: the waits for a pause and for slots of the rate limit, and for each request the time that
   * the request for this estimate took, divided by `concurrency`. It does not include your processing time, and slots
   * that other calls use. `Infinity` if the limit never allows it.
   */
  durationMs: number;
}

/** How a list is read. */
export interface PagingOptions {
  /**
   * Number of pages fetched while the current one is consumed; `0` for none.
   * @default 1
   */
  readAhead?: number | undefined;
  /**
   * Number of pages fetched in parallel, once the first response has reported how many there are. Records are still
   * returned in order. With `gapless` at most: it begins with one, and is halved whenever two pages do not overlap.
   * @default 1
   */
  concurrency?: number | undefined;
  /**
   * Returns every record that exists for the whole iteration exactly once, even while others are added and removed. It
   * needs about a tenth more requests, since pages are read with an overlap.
   * @default false
   */
  gapless?: boolean | undefined;
  /**
   * Continues at a checkpoint from `paginator.checkpoint()`, with the same list and parameters. With `gapless`, no
   * record is missed that exists from the start of the first iteration to the end of this one. Some records may be
   * returned again, usually few. If all of the last 250 records returned were removed or have moved far, the list is
   * read again from its start.
   * @default the first page that the parameters select
   */
  from?: Checkpoint | undefined;
  /**
   * Called after each page. If it throws, the error is logged and has no other effect; a promise is not awaited.
   * @default none
   */
  onProgress?: ((progress: PagingProgress) => void) | undefined;
}

/** One request for a page. */
export interface PageRequest {
  page: number;
  pageSize: number;
}

/**
 * Begins one use of a list: checks the caller's arguments and resolves the request. Throws an `InputValidationError`. Called
 * once per use.
 */
export type PrepareSession<T> = () => PageSession<T>;

/** One use of a list (an iteration, one page, or an estimate), with checked arguments and its request resolved. */
export interface PageSession<T> {
  /** Path and parameters, which identify the list that a checkpoint belongs to. */
  list: string;
  /** Method and path, the start of every message. */
  label: string;
  from: Checkpoint | undefined;
  /** The first page of the iteration. */
  page: number;
  pageSize: number;
  /** The largest page that the service returns. */
  maxPageSize: number;
  readAhead: number;
  concurrency: number;
  gapless: boolean;
  onProgress: ((progress: PagingProgress) => void) | undefined;
  /** The key of a record. Without it, or if it returns `undefined`, a record is not de-duplicated. */
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /**
   * Fetches one page. The first page of an iteration takes a `single` slot, and has the priority of any other call.
   * `createCallerError` turns the reason of a rejection into the caller's error.
   */
  fetch(
    request: PageRequest,
    context: { slotKind: "single" | "bulk"; signal?: AbortSignal | undefined },
  ): Promise<Page<T>>;
  /** Time per request, in ms, without waiting for a slot, averaged over the last ones; and what the limiter allows. */
  pace(): { latencyMs: number } & PageAllowance;
}

/** One iteration over a list. */
export interface IterationSession<T> extends PageSession<T> {
  /** How many records are wanted. No page is read ahead for more. */
  limit: number;
  /** `remainingMs`: the probable time to read this many more records, in ms; null if it is not known. */
  eta: { remainingMs(records: number, pageSize: number): number | null };
}

/** How many further pages the rate limit allows. */
export interface PageAllowance {
  /** Pages that may be requested now. */
  available: number;
  /** Pages that may be requested per interval; `Infinity` without a limit. */
  share: number;
  intervalMs: number;
  /** Remaining time of the pause after a 429, in ms. */
  pausedMs: number;
}

/**
 * A page together with its request. The clock of an iteration counts its responses, so that two pages can be ordered: one that
 * was requested when the other had been received (`requestedAt >= receivedAt`) is the newer one.
 */
export interface ReceivedPage<T> {
  request: PageRequest;
  page: Page<T>;
  requestedAt: number;
  /** From 1. */
  receivedAt: number;
}

/** Position of the first record of the iteration, from 0. */
export const iterationStartPosition = ({
  from,
  page,
  pageSize,
  maxPageSize,
}: Pick<PageSession<never>, "from" | "page" | "pageSize" | "maxPageSize">) =>
  from ? from.end : (page - 1) * Math.min(pageSize, maxPageSize);

/** Position of the first record of a page, from 0. Depends on the applied page size, as the service may cap the requested one. */
export const startOfPage = (page: Page<unknown>) => (page.page - 1) * page.pageSize;

/** Position after the last record of a page. */
export const endOfPage = (page: Page<unknown>) => startOfPage(page) + page.value.length;

/** True if the list has no records. A `totalCount` of 0 is wrong if the page has records or more pages follow. */
export const isListEmpty = ({ totalCount, value, hasMore }: Page<unknown>) =>
  totalCount === 0 && value.length === 0 && !hasMore;

/** Smaller pages can hardly overlap, so a smaller size is raised to this one. */
const MIN_GAPLESS_PAGE_SIZE = 25;

/** The largest page size to request after a page: if the service has applied a smaller one than requested, that is its cap. */
export const pageSizeWithinCap = (maxPageSize: number, request: PageRequest, applied: number) =>
  applied < request.pageSize ? Math.max(1, Math.min(maxPageSize, applied)) : maxPageSize;

/** The largest page size that gapless reading requests. */
export const gaplessPageSize = (pageSize: number, maxPageSize: number) =>
  Math.min(maxPageSize, Math.max(pageSize, MIN_GAPLESS_PAGE_SIZE));
