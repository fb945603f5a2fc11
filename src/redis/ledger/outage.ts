import type { RateLimitSettings } from "../../client/for-add-ons.js";
import { ConnectionError } from "../../shared/errors/index.js";
import { messageOf } from "../../shared/unknown.js";
import type { HoldTimings, LedgerReply } from "./ledger.js";

/** A process that has never reached Redis assumes that this many share the limit. */
const ASSUMED_PROCESS_COUNT = 10;

/** The last exchange of a process with the ledger. Times are those of the process, in ms. */
export interface LastExchange {
  /** When the first exchange took place. */
  connectedAt: number;
  sentAt: number;
  /** Slots that the process held afterwards. */
  heldCount: number;
  reply: LedgerReply;
}

/** What a process that cannot reach Redis uses of the limit. */
export interface OutageShare {
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
 * exceed the limit by at most one for each. Processes that have never reached Redis do so only if they are at most
 * `ASSUMED_PROCESS_COUNT`: with one slot, a program that is started during an outage could do nothing.
 */
export function computeOutageShare(
  { processes, heldCount }: LastKnownState,
  sinceMs: number,
  { requests, reserved }: Pick<RateLimitSettings, "requests" | "reserved">,
  { returnMs }: HoldTimings,
): OutageShare {
  const evenPart = processes === undefined ? 1 : Math.max(1, Math.floor(requests / processes));
  const isFirstInterval = heldCount !== undefined && processes !== 1 && sinceMs <= returnMs;
  const slots = isFirstInterval ? Math.max(1, Math.min(heldCount, evenPart)) : evenPart;
  return {
    slots,
    bulk: Math.max(1, slots - Math.ceil((slots * reserved) / requests)),
    // More processes than slots: each uses one, less often.
    returnMs: returnMs * Math.max(1, (processes ?? 1) / requests),
  };
}

/** What a process knew of the limit when it lost Redis. */
export interface LastKnownState {
  /** Processes that share the limit, itself included; `undefined` if it does not know them. */
  processes: number | undefined;
  /** Slots that it held; `undefined` if it has never reached Redis. */
  heldCount: number | undefined;
}

/** `failedAt`: when the exchange began that has failed. */
export function lastKnownStateOf(
  last: LastExchange | undefined,
  heldCount: number,
  failedAt: number,
  { requests }: Pick<RateLimitSettings, "requests">,
  { graceMs, returnMs }: HoldTimings,
): LastKnownState {
  if (!last) return { processes: Math.min(ASSUMED_PROCESS_COUNT, requests), heldCount: undefined };
  const { processes } = last.reply;
  // Others may have been started while it was idle, and one that has just been started may be the first of many.
  const knowsOthers = failedAt - last.sentAt < graceMs && (processes > 1 || failedAt - last.connectedAt > returnMs);
  return { processes: knowsOthers ? processes : undefined, heldCount };
}

export interface OutageOptions {
  settings: RateLimitSettings;
  timings: HoldTimings;
  onStoreError: "fail" | "local";
}

/**
 * - `reachable`: calls use what is granted. Exchanges report the epoch of the last reply.
 * - `unreachable`: calls use a share of the limit (`OutageShare`), or fail (`"fail"`). Another exchange begins half a second
 *   after the last one has failed, at the latest; none while one is overdue. With a share, they ask for nothing and report
 *   `NO_LEDGER_EPOCH`.
 * - `returned`: reachable again, but slots of the share were used that no exchange has reported. Calls use what is granted.
 *   Exchanges report `NO_LEDGER_EPOCH`, so that the ledger recovers. If the next exchange is overdue, too, the first interval
 *   of the share begins anew: a process whose replies are always late uses no more than it held.
 */
type ReachabilityState =
  | { readonly name: "reachable" }
  | { readonly name: "unreachable"; readonly since: number; readonly lastKnown: LastKnownState }
  | { readonly name: "returned" };

/**
 * Whether this process can reach Redis, and whether the ledger knows all that it used without. An exchange is overdue after a
 * second.
 *
 * | from | event | to |
 * |---|---|---|
 * | any state | an exchange fails, or is overdue (`failed`) | `unreachable`, since the first of these |
 * | `unreachable`, `returned` | a reply in time, whose exchange has reported `NO_LEDGER_EPOCH`: the ledger recovers until the next report, which has what was used meanwhile | `reachable` |
 * | `unreachable` | any other reply: slots of the share may have been used after the exchange began | `returned`; `reachable` with `"fail"`, which has no share |
 * | any state | nothing is in use or wanted any more (`forget`) | `reachable`: the next call asks the ledger again |
 */
export interface Reachability {
  readonly isReachable: boolean;
  /** The ledger may not know yet which slots of the share were used. */
  readonly isShareUnreported: boolean;
  /** What this process may use now without Redis; `undefined` while it is reachable, or if calls fail without it. */
  share(now: number): OutageShare | undefined;
  failed(now: number, lastKnown: LastKnownState): void;
  /** What this process does without Redis, and why: once for each outage, then `undefined`. */
  takeWarning(error: unknown): string | undefined;
  replied(reply: { isLate: boolean; hasReportedShare: boolean }): void;
  forget(): void;
}

export function createReachability({ settings, timings, onStoreError }: OutageOptions): Reachability {
  let state: ReachabilityState = { name: "reachable" };
  let hasWarned = false;
  const hasShare = onStoreError === "local";
  const share: Reachability["share"] = (now) =>
    hasShare && state.name === "unreachable"
      ? computeOutageShare(state.lastKnown, now - state.since, settings, timings)
      : undefined;
  return {
    share,
    get isReachable() {
      return state.name !== "unreachable";
    },
    get isShareUnreported() {
      return hasShare && state.name !== "reachable";
    },
    failed(now, lastKnown) {
      if (state.name !== "unreachable") state = { name: "unreachable", since: now, lastKnown };
    },
    replied({ isLate, hasReportedShare }) {
      // If replies are always late, that is one outage.
      if (!isLate) hasWarned = false;
      const isComplete = !hasShare || (hasReportedShare && !isLate);
      if (state.name !== "reachable") state = { name: isComplete ? "reachable" : "returned" };
    },
    forget() {
      state = { name: "reachable" };
    },
    takeWarning(error) {
      if (hasWarned) return undefined;
      hasWarned = true;
      const { requests, intervalMs } = settings;
      // Of the time after the first interval.
      const slots = share(Infinity)?.slots;
      const consequence =
        slots === undefined
          ? "calls fail"
          : `this process continues with ${slots} of ${requests} requests per ${intervalMs} ms`;
      return `the shared rate limiter cannot reach Redis (${messageOf(error)}): ${consequence} until it can`;
    },
  };
}

/** The error of a call that cannot have a slot. */
export function redisUnreachableError(cause: unknown): ConnectionError {
  const message = `the shared rate limiter cannot reach Redis, nothing was sent: ${messageOf(cause)}`;
  return new ConnectionError(message, { cause });
}
