import type { RateLimitSnapshot } from "../limiter/rate-limiter.js";
import { forecastDurationMs } from "../paging/estimate.js";

/** The share of the rate limit that is reserved for single calls unless the client is configured otherwise. */
const DEFAULT_RESERVED_SHARE = 0.1;

/** Estimated time to send this many requests, in ms, at one per `paceMs` while the rate limit does not delay them. */
export function durationOf(requests: number, snapshot: RateLimitSnapshot, paceMs = 0): number {
  const { limit, intervalMs, available, pausedUntil } = snapshot;
  const reserved = limit === Infinity ? 0 : Math.floor(limit * DEFAULT_RESERVED_SHARE);
  const share = limit - reserved;
  const pausedMs = pausedUntil === null ? 0 : Math.max(0, pausedUntil - Date.now());
  const free = pausedUntil === null ? Math.max(0, available - reserved) : share;
  return forecastDurationMs(requests, paceMs, { available: free, share, intervalMs, pausedMs });
}
