import { safetyMarginMs } from "../../limiter/quota.js";
import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";

const MIN_GRACE_MS = 1_000;
const MAX_GRACE_MS = 5_000;
const HEARTBEATS_PER_GRACE = 4;

/** The times of one shared limit, in ms. */
export interface LeaseTimings {
  /** A slot is free again this long after its request has ended. */
  returnMs: number;
  /** How long a process may be silent before the others take it for dead. */
  graceMs: number;
  /** The slots of requests in flight are free again this long after the last message of their process. */
  leaseMs: number;
  /** How often a process reports while it holds slots or waits for some. */
  heartbeatMs: number;
}

export function createLeaseTimings({ intervalMs }: Pick<RateLimitSettings, "intervalMs">): LeaseTimings {
  const returnMs = Math.ceil(intervalMs + safetyMarginMs(intervalMs));
  const graceMs = Math.ceil(Math.min(MAX_GRACE_MS, Math.max(MIN_GRACE_MS, intervalMs / 2)));
  return {
    returnMs,
    graceMs,
    // A dead process may have sent its last request up to a grace after its last message.
    leaseMs: returnMs + graceMs,
    heartbeatMs: graceMs / HEARTBEATS_PER_GRACE,
  };
}
