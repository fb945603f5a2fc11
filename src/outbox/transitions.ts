import { fieldOf } from "../shared/unknown.js";
import type { EntryCallEnd } from "./call.js";
import { errorJson, parsed, type StoredEntry } from "./entry.js";
import type { LookUpResult } from "./find-outcome.js";
import type { EntryChange } from "./store.js";

/*
 * What becomes of an entry after a call, and after a look-up. "Before" is the state before the call: `pending` if no
 * earlier attempt may have been applied, otherwise `sending`.
 *
 *   end of a call            before    the entry is then     what follows
 *   applied                            applied               nothing
 *   refused                  pending   rejected              nothing
 *                            sending   sending               a look-up: an earlier attempt may have been applied
 *   uncertain                          sending               a look-up after `settleMs`, or the item is left alone until
 *                                                            the next run
 *   failed, fails-for-all    pending   pending               the item is left alone until the next run
 *                            sending   sending               the same
 *   interrupted                        as after `failed`,    the run may read the item again: somebody else may have
 *                                      without an error      changed the entry
 *
 *   look-up                  operation                       the entry is then
 *   applied                                                  applied
 *   absent                   receive                         pending
 *   absent, unclear          create                          sending, and is sent again: a SKU is unique
 *   unclear                  receive, any after a refusal    unknown
 *   unreadable                                               unknown
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
