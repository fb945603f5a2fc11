import { ConnectionError } from "../../errors/index.js";
import { messageOf } from "../../errors/unknown-value.js";
import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";
import type { HoldTimings, LedgerReply } from "./ledger.js";

/** If a process was never connected, assume that this many share the limit. */
const ASSUMED_PROCESS_COUNT = 10;

/** The last known state of a process that cannot reach Redis. */
export interface LastKnownState {
  /** Processes that shared the limit, itself included; `undefined` if it cannot know. */
  members: number | undefined;
  /** Whether it ever reached Redis. */
  wasConnected: boolean;
  /** Slots that it held. */
  held: number;
}

/** The last exchange of a process with the ledger. Times are those of the process, in ms. */
export interface LastExchange {
  /** When the first exchange took place. */
  connectedAt: number;
  sentAt: number;
  /** Slots that the process held afterwards. */
  held: number;
  reply: LedgerReply;
}

export function lastKnownStateOf(
  last: LastExchange | undefined,
  held: number,
  now: number,
  { holdMs, returnMs }: HoldTimings,
): LastKnownState {
  if (!last) return { members: undefined, wasConnected: false, held };
  const { members } = last.reply;
  // A process that has just been started may be the first of many.
  const knowsOthers = now - last.sentAt < holdMs && (members > 1 || now - last.connectedAt > returnMs);
  return { members: knowsOthers ? members : undefined, wasConnected: true, held };
}

/** The quota of a process that cannot reach Redis. */
export interface FallbackQuota {
  slots: number;
  /** Slots that bulk requests may use; at least one, or iterations could not continue. */
  bulk: number;
  /** A slot is free again this long after its request has ended, in ms. */
  returnMs: number;
}

/**
 * The part of the limit that a process uses while it is cut off from Redis. In the first interval the others may hold all
 * other slots: it uses no more than it held, and one if it held none. Later all of those are free again: it uses an even
 * part, at least one slot, and one if it does not know how many the others are. So if all processes are cut off, they
 * exceed the limit by at most one for each.
 */
export function computeFallbackQuota(
  { members, wasConnected, held }: LastKnownState,
  sinceMs: number,
  { requests, reserved }: Pick<RateLimitSettings, "requests" | "reserved">,
  { returnMs }: HoldTimings,
): FallbackQuota {
  const processes = members ?? (wasConnected ? requests : ASSUMED_PROCESS_COUNT);
  const evenPart = Math.max(1, Math.floor(requests / processes));
  const isFirstInterval = wasConnected && members !== 1 && sinceMs <= returnMs;
  const slots = isFirstInterval ? Math.max(1, Math.min(held, evenPart)) : evenPart;
  return {
    slots,
    bulk: Math.max(1, slots - Math.ceil((slots * reserved) / requests)),
    // More processes than slots: each uses one, less often.
    returnMs: members === undefined ? returnMs : returnMs * Math.max(1, members / requests),
  };
}

export interface OutageOptions {
  settings: RateLimitSettings;
  timings: HoldTimings;
  onStoreError: "fail" | "local";
  warn(message: string): void;
}

/** A period in which this process cannot reach Redis. */
export class RedisOutage {
  #hasWarned = false;

  constructor(
    readonly options: OutageOptions,
    readonly since: number,
    readonly lastKnownState: LastKnownState,
  ) {}

  /** The quota of this process now; `undefined` if its calls fail. */
  quota(now: number): FallbackQuota | undefined {
    const { settings, timings, onStoreError } = this.options;
    if (onStoreError === "fail") return undefined;
    return computeFallbackQuota(this.lastKnownState, now - this.since, settings, timings);
  }

  warnOnce(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { requests, intervalMs } = this.options.settings;
    const quota = this.quota(Number.POSITIVE_INFINITY);
    const consequence = quota
      ? `this process continues with ${quota.slots} of ${requests} requests per ${intervalMs} ms`
      : "calls fail";
    this.options.warn(`the shared rate limiter cannot reach Redis (${messageOf(error)}): ${consequence} until it can`);
  }
}

/** The error of a call that cannot have a slot. */
export function redisUnreachableError(cause: unknown): ConnectionError {
  const message = `the shared rate limiter cannot reach Redis, nothing was sent: ${messageOf(cause)}`;
  return new ConnectionError(message, { cause });
}
