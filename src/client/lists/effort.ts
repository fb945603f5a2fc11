import type { RateLimiter } from "../limiter/rate-limiter.js";

/** How many requests of the background the rate limit allows, if no other calls use it. */
export interface SlotAllowance {
  /** Those that may be sent now. */
  available: number;
  /** Those per interval; `Infinity` without a limit. */
  share: number;
  intervalMs: number;
  /** Remaining time of the pause after a 429, in ms. */
  pausedMs: number;
}

/** All slots except the reserved ones. A pause is long enough for most slots to become free again. */
export function slotAllowanceOf(limiter: Pick<RateLimiter, "snapshot">): SlotAllowance {
  const { limit, intervalMs, reserved, available, pausedUntil } = limiter.snapshot();
  const share = limit - reserved;
  return pausedUntil === null
    ? { available: Math.max(0, available - reserved), share, intervalMs, pausedMs: 0 }
    : { available: share, share, intervalMs, pausedMs: Math.max(0, pausedUntil - Date.now()) };
}

/** Share of additional requests for overlapping pages of 250 records, as measured. */
const OVERLAP_SHARE = 0.1;

/** How many requests it takes to read a list of this many records with `gapless`, in pages of 250. At least one. */
export const requestsForList = (records: number): number =>
  records <= 250 ? 1 : Math.ceil((records / 250) * (1 + OVERLAP_SHARE));

/** Whether a list of this many records takes fewer requests than its items do one by one. */
export const isListCheaper = (items: number, records: number): boolean => items > requestsForList(records);

/** How many requests it takes to read items one by one, or with their list if that is cheaper. */
export const requestsForItems = (items: number, records: number): number => Math.min(items, requestsForList(records));

/**
 * The probable duration of this many requests, in ms, at one per `paceMs` while the rate limit does not delay them. It is not
 * known when the slots in use become free again; the assumption is: after one interval.
 */
export function durationOf(requests: number, { available, share, intervalMs, pausedMs }: SlotAllowance, paceMs = 0) {
  const intervals = Math.ceil(Math.max(0, requests - available) / share);
  return Math.ceil(pausedMs + Math.max(intervals * intervalMs, requests * paceMs));
}
