import type { Checkpoint } from "./checkpoint.js";
import type { RecordKey } from "./seen-keys.js";

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
  /**
   * Records dropped because this iteration, or the one whose checkpoint it goes on from, has given them before. With
   * `gapless` most of them are the overlap of the pages.
   */
  duplicates: number;
  /**
   * How often pages had to be read again, or looked for, because records had moved: a gap between two pages that was closed
   * with `gapless`, a stretch behind a fall of `totalCount` without it.
   */
  gapsRepaired: number;
  /**
   * How long the rest of the list is likely to take, in ms, at the pace of this iteration and with what the rate limit
   * allows; 0 at the end, null when it cannot be told.
   */
  etaMs: number | null;
}

/** What reading a list is likely to take. */
export interface Estimate {
  /** Records that the iteration will give: those behind its first page, or behind the checkpoint that it goes on from. */
  records: number;
  /** Pages that hold them, of the size that the service applies. At least 1. */
  pages: number;
  /** Requests for these pages; with `gapless` more than pages, by a measured share. */
  requests: number;
  /**
   * How long that takes, in ms: pause and slots of the rate limit, and the time that the one request took, for each request
   * by the `concurrency`. What you do with a page, and what other calls use of the limit, is not in it. `Infinity` when the
   * limit never allows it.
   */
  durationMs: number;
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
  /**
   * Goes on where `paginator.checkpoint()` was, with the same list and parameters. With `gapless` no record is missed that
   * exists from the start of the first iteration to the end of this one. Records may be given again: few as a rule; if all
   * of the last 250 that were given have gone or have moved far, the list is read from its start.
   * @default the first page that the parameters ask for
   */
  from?: Checkpoint | undefined;
  /**
   * Called after each page. An error in it is logged and changes nothing; a promise is not awaited.
   * @default none
   */
  onProgress?: ((progress: PagingProgress) => void) | undefined;
}

/** One request for a page. */
export interface PageRequest {
  page: number;
  pageSize: number;
}

/** A list, as a paginator uses it. */
export interface PageSource<T> {
  /** Checks the caller's arguments and resolves the request. Throws an `InputValidationError`. Called once per use of the list. */
  prepare(): PageSession<T>;
}

/** One use of a list (an iteration, one page, or an estimate), with checked arguments and its request resolved. */
export interface PageSession<T> extends PagingSettings<T> {
  /**
   * Fetches one page. `further` is false for the first page of an iteration, which has the priority of any other call.
   * `errorForWaiter` turns the reason of a rejection into the caller's error.
   */
  fetch(request: PageRequest, context: { further: boolean; signal?: AbortSignal | undefined }): Promise<Page<T>>;
  /** Time per request, in ms, without waiting for a slot, averaged over the last ones; and what the limiter allows. */
  pace(): { latencyMs: number } & Allowance;
}

/** How many further pages the rate limit allows. */
export interface Allowance {
  /** Pages that may be requested now. */
  available: number;
  /** Pages that may be requested per interval; `Infinity` without a limit. */
  share: number;
  intervalMs: number;
  /** Remaining time of the pause after a 429, in ms. */
  pausedMs: number;
}

/** The checked arguments of a list. */
export interface PagingSettings<T> {
  /** Path and parameters, which identify the list that a checkpoint belongs to. */
  list: string;
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
}

/** A page together with its request. Responses of an iteration are counted, so that two pages can be ordered in time. */
export interface PageRead<T> {
  request: PageRequest;
  page: Page<T>;
  /** How many responses had been received when this page was requested. */
  responsesAtSend: number;
  /** Number of this response, from 1. */
  responseNumber: number;
}

/** Position of the first record of the iteration, from 0. */
export const startPosition = ({ from, page, pageSize, maxPageSize }: PagingSettings<never>) =>
  from ? from.end : (page - 1) * Math.min(pageSize, maxPageSize);

/** Position of the first record of a page, from 0. Depends on the applied page size, as the service may cap the requested one. */
export const offsetOf = (page: Page<unknown>) => (page.page - 1) * page.pageSize;

/** Position after the last record of a page. */
export const endOf = (page: Page<unknown>) => offsetOf(page) + page.value.length;

/** True if the list has no records. A `totalCount` of 0 is wrong if the page has records or more pages follow. */
export const isListEmpty = ({ totalCount, value, hasMore }: Page<unknown>) =>
  totalCount === 0 && value.length === 0 && !hasMore;

/** Smaller pages can hardly overlap, so a smaller size is raised to this one. */
const MIN_OVERLAPPING_SIZE = 25;

/** The largest page size that gapless reading requests. */
export const sizeThatOverlaps = (pageSize: number, maxPageSize: number) =>
  Math.min(maxPageSize, Math.max(pageSize, MIN_OVERLAPPING_SIZE));
