import { guardMs } from "../../limiter/guard.js";
import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";

const SHORTEST_GRACE_MS = 1_000;
const LONGEST_GRACE_MS = 5_000;
const BEATS_OF_GRACE = 4;

/** The times that the processes of one limit keep to, in ms. */
export interface Terms extends Pick<RateLimitSettings, "requests" | "reserved" | "intervalMs"> {
  /** A slot comes back so long after its request has ended. */
  returnMs: number;
  /** How long a process may be silent before the others take it for dead. */
  graceMs: number;
  /** A slot whose process says nothing more of it comes back after this. */
  leaseMs: number;
  /** How often a process tells of itself while it has slots or waits for some. */
  beatMs: number;
}

export function termsOf({ requests, reserved, intervalMs }: RateLimitSettings): Terms {
  const returnMs = Math.ceil(intervalMs + guardMs(intervalMs));
  const graceMs = Math.ceil(Math.min(LONGEST_GRACE_MS, Math.max(SHORTEST_GRACE_MS, intervalMs / 2)));
  return {
    requests,
    reserved,
    intervalMs,
    returnMs,
    graceMs,
    // Its request may have been sent just before the process died, at most a grace after it was heard of.
    leaseMs: returnMs + graceMs,
    beatMs: graceMs / BEATS_OF_GRACE,
  };
}
