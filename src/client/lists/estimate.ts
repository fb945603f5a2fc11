import { monotonicNowMs } from "../../shared/time/clock.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import type { Estimate, PageAllowance, PageSession } from "./page.js";

/** What reading one or more lists is likely to take, and the figures that the duration is based on. */
export interface ListForecast {
  records: number;
  pages: number;
  requests: number;
  /** Time between two requests, in ms, while the rate limit does not delay them. */
  paceMs: number;
  allowance: PageAllowance;
}

/** The forecast for the caller. */
export function estimateFromForecast({ records, pages, requests, paceMs, allowance }: ListForecast): Estimate {
  return { records, pages, requests, durationMs: forecastDurationMs(requests, paceMs, allowance) };
}

/** How many pages and requests reading this many records takes. At least one. */
export function countPagesAndRequests(records: number, { pageSize, gapless }: { pageSize: number; gapless: boolean }) {
  const pages = Math.max(1, Math.ceil(records / pageSize));
  const requests = gapless && pages > 1 ? Math.ceil(pages * (1 + overlapRequestShare(pageSize))) : pages;
  return { pages, requests };
}

/**
 * Share of additional requests for overlapping pages. Measured on a calm list and on one that changes by three records per
 * request: 8 to 9 % at 250 records per page, 21 to 27 % at 50, 32 to 43 % at 25.
 */
const overlapRequestShare = (pageSize: number) => 1.6 / Math.sqrt(pageSize);

/**
 * How many further pages a limiter allows: all slots except the reserved ones, if no other calls use it. A pause is long
 * enough for most slots to become free again.
 */
export function pageAllowanceOf(limiter: Pick<RateLimiter, "snapshot">): PageAllowance {
  const { limit, intervalMs, reserved, available, pausedUntil } = limiter.snapshot();
  const share = limit - reserved;
  return pausedUntil === null
    ? { available: Math.max(0, available - reserved), share, intervalMs, pausedMs: 0 }
    : { available: share, share, intervalMs, pausedMs: Math.max(0, pausedUntil - Date.now()) };
}

/**
 * The probable duration of this many requests, in ms, at one request per `paceMs` while the rate limit does not delay them.
 * It is not known when the slots in use become free again. The assumption is: after one interval.
 */
export function forecastDurationMs(requests: number, paceMs: number, allowance: PageAllowance): number {
  const { available, share, intervalMs, pausedMs } = allowance;
  if (requests === 0) return 0;
  const delayed = Math.max(0, requests - available);
  const intervals = Math.ceil(delayed / share);
  if (intervals === 0) return Math.ceil(pausedMs + requests * paceMs);
  const inLastInterval = delayed - (intervals - 1) * share;
  return Math.ceil(pausedMs + Math.max(intervals * intervalMs + inLastInterval * paceMs, requests * paceMs));
}

/** Estimates when an iteration ends, from the time per request, the time that its consumer holds a page, and the limiter. */
export class EtaEstimator {
  readonly #session: EtaSession;
  /** When the consumer received the page that it holds. */
  #emittedAt: number | undefined;
  #heldMs = 0;
  #pagesHeld = 0;

  constructor(session: EtaSession) {
    this.#session = session;
  }

  /** The consumer receives a page. */
  pageEmitted(): void {
    this.#emittedAt = monotonicNowMs();
  }

  /** The consumer requests the next page. */
  pageRequested(): void {
    if (this.#emittedAt === undefined) return;
    this.#heldMs += monotonicNowMs() - this.#emittedAt;
    this.#pagesHeld += 1;
    this.#emittedAt = undefined;
  }

  /** The probable time to read this many more records, in ms; null if it is not known. */
  remainingMs(records: number, pageSize: number): number | null {
    if (records === 0) return 0;
    const { readAhead, concurrency, gapless } = this.#session;
    const { latencyMs, ...allowance } = this.#session.pace();
    const fetchMs = latencyMs / concurrency;
    const holdMs = this.#heldMs / Math.max(1, this.#pagesHeld);
    // Pages that are read ahead are fetched while the consumer processes another one.
    const paceMs = readAhead > 0 || concurrency > 1 ? Math.max(fetchMs, holdMs) : fetchMs + holdMs;
    const etaMs = forecastDurationMs(countPagesAndRequests(records, { pageSize, gapless }).requests, paceMs, allowance);
    return Number.isFinite(etaMs) ? etaMs : null;
  }
}

type EtaSession = Pick<PageSession<unknown>, "pace" | "readAhead" | "concurrency" | "gapless">;
