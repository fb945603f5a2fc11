import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";
import type { LeaseTimings } from "./lease-timings.js";

/** If a process was never connected, assume that this many share the limit. */
const ASSUMED_PROCESSES = 10;

/** What a process knew when it was cut off from Redis. */
export interface LastKnownState {
  /** Processes that shared the limit, itself included; `undefined` if it cannot know: see `RedisSlots`. */
  members: number | undefined;
  /** Whether it ever reached Redis. */
  wasConnected: boolean;
  /** Slots that it held. */
  held: number;
}

/** What a process may use that is cut off from Redis. */
export interface FallbackQuota {
  slots: number;
  /** Slots that further pages of iterations may use; at least one, or they could not go on. */
  pages: number;
  /** A slot is free again this long after its request has ended, in ms. */
  returnMs: number;
}

/**
 * The part of the limit that a process uses while it is cut off from Redis. In the first interval the others may hold all
 * other slots: it uses no more than it held, and one if it held none. Later all of those are free again: it uses an even
 * part, at least one slot, and one if it does not know how many the others are. So if all processes are cut off, they
 * exceed the limit by at most one for each.
 */
export function fallbackQuota(
  { members, wasConnected, held }: LastKnownState,
  sinceMs: number,
  { requests, reserved }: Pick<RateLimitSettings, "requests" | "reserved">,
  { returnMs }: LeaseTimings,
): FallbackQuota {
  const processes = members ?? (wasConnected ? requests : ASSUMED_PROCESSES);
  const evenPart = Math.max(1, Math.floor(requests / processes));
  const isFirstInterval = wasConnected && members !== 1 && sinceMs <= returnMs;
  const slots = isFirstInterval ? Math.max(1, Math.min(held, evenPart)) : evenPart;
  return {
    slots,
    pages: Math.max(1, slots - Math.ceil((slots * reserved) / requests)),
    // More processes than slots: each uses one, less often.
    returnMs: members === undefined ? returnMs : returnMs * Math.max(1, members / requests),
  };
}
