import { fieldOf } from "../shared/unknown.js";
import type { EntryCallEnd } from "./call.js";
import { errorJson, parsed, type StoredEntry } from "./entry.js";
import type { LookUpResult } from "./find-outcome.js";
import type { EntryChange } from "./store.js";

/*
 * What becomes of an entry at the end of a call (`afterCall`), and after a look-up (`afterLookUp`).
 *
 * "Before" is the state of the entry when the call began. `pending`: no earlier attempt can have been applied. `sending`: an
 * earlier attempt may have been applied. Example: the response to an update was lost, so the entry is `sending`. The update is
 * sent again and refused. The refusal says nothing about the first attempt, so the item is looked up.
 *
 *   end of the call          before    the entry is then     what follows
 *   applied                  any       applied               nothing
 *   refused                  pending   rejected              nothing
 *                            sending   sending               a look-up
 *   uncertain                any       sending               a look-up after `settleMs`. After too many uncertain calls
 *                                                            (`MAX_UNCERTAIN`), the item is left alone until the next run
 *   failed, fails-for-all    pending   pending               the item is left alone until the next run
 *                            sending   sending               the same
 *   interrupted              pending   pending, no error     the run may read the item again: somebody else may have
 *                            sending   sending, unchanged    changed the entry
 *
 *   look-up                  operation                       the entry is then
 *   applied                  any                             applied
 *   absent                   receive                         pending, and is sent again
 *   absent, unclear          create                          sending, and is sent again: a SKU is unique
 *   unclear                  receive                         unknown
 *   unclear                  any, after a refusal            unknown
 *   unreadable               any                             unknown
 */

/** The next step of a run for the item. With `settle`, the outcome is looked up after `settleMs`. */
export type AfterCall = "nothing" | "look-up" | "settle" | "set-aside" | "read-again";

/** Returns how an entry changes at the end of a call, and what follows. `change` is undefined if the entry stays as it is. */
export function afterCall(
  before: "pending" | "sending",
  { outcome, entry, result, error }: EntryCallEnd,
): { change?: EntryChange; next: AfterCall } {
  const stored = { error: error === undefined ? null : errorJson(error) };
  if (outcome === "applied") return { change: appliedChange(result), next: "nothing" };
  if (outcome === "refused" && before === "sending") return { change: stored, next: "look-up" };
  if (outcome === "refused")
    return { change: { ...stored, state: "rejected", settledAt: Date.now() }, next: "nothing" };
  if (outcome === "uncertain") return { change: stored, next: "settle" };
  const isInterrupted = outcome === "interrupted";
  const next = isInterrupted ? "read-again" : "set-aside";
  // The call has taken the entry back already, or has not begun an attempt.
  if (entry.state !== "sending") return { next };
  if (before === "pending")
    return { change: { ...(isInterrupted ? { error: null } : stored), state: "pending" }, next };
  return isInterrupted ? { next } : { change: stored, next };
}

/**
 * Returns how an entry changes after a look-up; `undefined` if it is sent again as it is.
 *
 * @param wasRefused Whether the last attempt was refused, and an earlier attempt is looked up.
 */
export function afterLookUp(entry: StoredEntry, found: LookUpResult, wasRefused = false): EntryChange | undefined {
  if (found.outcome === "applied") return appliedChange(found.result);
  if (found.outcome === "unreadable" || wasRefused) return unknownChange(entry, found);
  if (entry.operation === "create") return undefined;
  return found.outcome === "absent" ? { state: "pending", error: null } : unknownChange(entry, found);
}

const appliedChange = (result: unknown): EntryChange => ({
  state: "applied",
  settledAt: Date.now(),
  result: JSON.stringify(result) ?? null,
  error: null,
});

function unknownChange({ error: stored }: StoredEntry, found: { reason: string; lots?: number[] }): EntryChange {
  const error = parsed(stored);
  // The advice in an OutcomeUnknownError was followed already, so only its cause is quoted.
  const failure = fieldOf(error, "name") === "OutcomeUnknownError" ? (fieldOf(error, "cause") ?? error) : error;
  const why =
    error === undefined ? "the process ended before the response" : String(fieldOf(failure, "message") ?? failure);
  const reason = `The outcome is unknown: ${found.reason} (${why.replace(/\.$/, "")}).`;
  const message = `${reason} Check whether it was applied, then call outbox.resolve.`;
  const { lots } = found;
  return { state: "unknown", error: errorJson({ name: "OutcomeUnknownError", message, reason, lots }) };
}
