import { fieldOf } from "../../errors/unknown-value.js";
import type { OutboxEntry } from "../../outbox/entry.js";
import { whyNotCanceled } from "../../outbox/store.js";

/**
 * How far a change of a plan is. Its entries show that, after a crash too.
 *
 * The writes of a change enter the outbox one at a time: each one after the one before was applied. So no process sends
 * anything behind a write that was not applied. All entries of a change are applied, except perhaps the last one. Only a
 * change of an item can be uncertain or as desired: a look-up or a person decides about a receive or an issue, and of a
 * count only the lots at its time could show that it is as desired.
 *
 *   kind                last entry                     what happens
 *   to-add              none, or applied; writes left  the state is read, unless it was: the next write is added,
 *                                                      or the change is as desired, or stale
 *   to-send             pending, known not applied     the state is read, unless it was: the entry is left to the
 *                                                      run, or canceled: as desired, or stale. Not sent by the run:
 *                                                      reported
 *   uncertain           pending, may have been applied the state is read, unless it was: the entry is left to the run,
 *                                                      or withdrawn: stale. Still so after the run: as desired, or
 *                                                      reported
 *   under-way           being sent, or was at a crash  left to the run. Still so after it: as desired, or reported
 *   rejected, canceled  in this state                  as desired, or reported
 *   applied             applied; no write left         reported
 *   unknown             in this state                  reported
 */
export interface Progress<Change> {
  change: Change;
  /** The entries of those of its writes that were added, in order. */
  entries: readonly OutboxEntry[];
  kind: "to-add" | "to-send" | "uncertain" | "under-way" | "applied" | "rejected" | "unknown" | "canceled";
  /** Number of its writes, added or not. */
  writeCount: number;
}

export function progressOf<Change>(
  change: Change,
  entries: readonly OutboxEntry[],
  writeCount: number,
): Progress<Change> {
  return { change, entries, writeCount, kind: kindOf(entries, writeCount) };
}

function kindOf(entries: readonly OutboxEntry[], writeCount: number): Progress<unknown>["kind"] {
  const last = entries.at(-1);
  if (last === undefined || last.state === "applied") return entries.length < writeCount ? "to-add" : "applied";
  if (last.state === "pending") return isKnownUnapplied(last) ? "to-send" : "uncertain";
  return last.state === "sending" ? "under-way" : last.state;
}

/**
 * Whether an entry is pending, and known not to have been applied, so that it can be canceled: it was never sent, or a
 * look-up has not found what it creates.
 */
export const isKnownUnapplied = (entry: OutboxEntry): boolean =>
  entry.state === "pending" && whyNotCanceled(entry) === undefined;

/** The error of the last entry; an empty string if there is none. */
export const reasonOf = ({ entries }: Progress<unknown>): string =>
  String(fieldOf(entries.at(-1)?.error, "message") ?? "").replace(/\.+$/, "");

/** Of a change with several writes, how many were applied. */
export function describeProgress({ entries, writeCount }: Progress<unknown>, reason: string): string {
  const applied = entries.filter(({ state }) => state === "applied").length;
  return applied === 0 ? reason : `${applied} of ${writeCount} writes were applied. ${reason}`;
}
