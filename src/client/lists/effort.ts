import type { RateLimiter } from "../limiter/rate-limiter.js";

/** How many background requests the rate limit allows, if no other calls use it. */
export interface SlotAllowance {
  /** How many may be sent now. */
  available: number;
  /** How many may be sent per interval; `Infinity` without a limit. */
  share: number;
  intervalMs: number;
  /** Remaining time of the pause after a 429, in ms. */
  pausedMs: number;
}

/** Returns all slots except the reserved ones. During a pause, all of these slots count as free when the pause ends. */
export function slotAllowanceOf(limiter: Pick<RateLimiter, "snapshot">): SlotAllowance {
  const { limit, intervalMs, reserved, available, pausedUntil } = limiter.snapshot();
  const share = limit - reserved;
  return pausedUntil === null
    ? { available: Math.max(0, available - reserved), share, intervalMs, pausedMs: 0 }
    : { available: share, share, intervalMs, pausedMs: Math.max(0, pausedUntil - Date.now()) };
}

/** The additional requests if pages of 250 records overlap, as a share of all requests. Measured. */
const OVERLAP_SHARE = 0.1;

/** How many requests it takes to read a list of this many records with `gapless`, in pages of 250. At least one. */
export const requestsForList = (records: number): number =>
  records <= 250 ? 1 : Math.ceil((records / 250) * (1 + OVERLAP_SHARE));

/** Whether reading a list of this many records takes fewer requests than reading the items one by one. */
export const isListCheaper = (items: number, records: number): boolean => items > requestsForList(records);

/** How many requests it takes to read items one by one, or to read the whole list if that takes fewer. */
export const requestsForItems = (items: number, records: number): number => Math.min(items, requestsForList(records));

/**
 * Returns the probable duration of a number of requests, in ms, at one request per `paceMs` as long as the rate limit does not
 * delay them. Slots in use are assumed to become free after one interval.
 */
export function durationOf(requests: number, { available, share, intervalMs, pausedMs }: SlotAllowance, paceMs = 0) {
  const intervals = Math.ceil(Math.max(0, requests - available) / share);
  return Math.ceil(pausedMs + Math.max(intervals * intervalMs, requests * paceMs));
}
