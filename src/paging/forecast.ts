import type { RateLimiter } from "../limiter/rate-limiter.js";

/** What the limiter lets further pages have. */
export interface Allowance {
  /** Pages that may be requested now. */
  available: number;
  /** Pages that may be requested in each interval; `Infinity` without a limit. */
  share: number;
  intervalMs: number;
  /** What is left of the pause after a 429, in ms. */
  pausedMs: number;
}

/**
 * What a limiter allows further pages at this moment: all but the reserved slots, if nothing else uses it. A pause is long
 * enough for most slots to come back.
 */
export function allowanceOf(limiter: Pick<RateLimiter, "snapshot" | "reserved">): Allowance {
  const { limit, intervalMs, available, pausedUntil } = limiter.snapshot();
  const share = limit - limiter.reserved;
  return pausedUntil === null
    ? { available: Math.max(0, available - limiter.reserved), share, intervalMs, pausedMs: 0 }
    : { available: share, share, intervalMs, pausedMs: Math.max(0, pausedUntil - Date.now()) };
}

/**
 * How long so many requests are likely to take, in ms, one each `paceMs` as long as the limit is not what they wait for.
 * When the slots in use come back is not known; it is taken to be after one interval.
 */
export function forecastMs(requests: number, paceMs: number, allowance: Allowance): number {
  const { available, share, intervalMs, pausedMs } = allowance;
  if (requests === 0) return 0;
  const later = Math.max(0, requests - available);
  const waits = Math.ceil(later / share);
  if (waits === 0) return Math.ceil(pausedMs + requests * paceMs);
  const inLastInterval = later - (waits - 1) * share;
  return Math.ceil(pausedMs + Math.max(waits * intervalMs + inLastInterval * paceMs, requests * paceMs));
}

/** What reading one or more lists is likely to take, and what decides how long that lasts. */
export interface Forecast {
  records: number;
  pages: number;
  requests: number;
  /** One request is sent each so many ms as long as the limit allows it. */
  paceMs: number;
  allowance: Allowance;
}

/** The same as the caller sees it. */
export function estimateOf({ records, pages, requests, paceMs, allowance }: Forecast) {
  return { records, pages, requests, durationMs: forecastMs(requests, paceMs, allowance) };
}

/** Pages and requests that it takes to read so many records; one even if there are none. */
export function effortOf(records: number, { pageSize, gapless }: { pageSize: number; gapless: boolean }) {
  const pages = Math.max(1, Math.ceil(records / pageSize));
  const requests = gapless && pages > 1 ? Math.ceil(pages * (1 + overlapCost(pageSize))) : pages;
  return { pages, requests };
}

/**
 * Requests that overlapping pages cost besides, as a share: by measurement 8 to 9 % at 250 records a page, 21 to 27 % at 50
 * and 32 to 43 % at 25, on a calm list and on one that changes by three records at each request.
 */
const overlapCost = (pageSize: number) => 1.6 / Math.sqrt(pageSize);
