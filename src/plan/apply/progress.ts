import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import { whyNotCanceled } from "../../outbox/store.js";
import { fieldOf } from "../../shared/unknown.js";

/**
 * How far a change of a plan is. Its entries show that, after a crash too: another process may have sent them.
 *
 * The writes of a change enter the outbox one at a time: each one after the one before was applied. So no process sends
 * anything behind a write that was not applied. All entries of a change are applied, except perhaps the last one.
 *
 *   kind                         last entry
 *   to-add                       none, or applied; writes are left
 *   to-send                      pending, known not to have been applied: it was never sent, or a look-up has not found
 *                                what it creates
 *   uncertain                    pending, may have been applied. Only of an item: a look-up or a person decides about a
 *                                receive or an issue
 *   under-way                    being sent, or was at a crash
 *   applied                      applied; no write is left
 *   rejected, unknown, canceled  in this state
 */
export interface Progress<Change> {
  change: Change;
  /** Its writes, in order. */
  writes: readonly NewOutboxEntry[];
  /** The entries of those that were added, in order. */
  entries: readonly OutboxEntry[];
  kind: "to-add" | "to-send" | "uncertain" | "under-way" | "applied" | "rejected" | "unknown" | "canceled";
}

/** The service is read before their next write is sent. */
export const READ_KINDS: ReadonlySet<Progress<unknown>["kind"]> = new Set(["to-add", "to-send", "uncertain"]);

/** Their last entry is to be sent, or is being sent. */
export const UNFINISHED_KINDS: ReadonlySet<Progress<unknown>["kind"]> = new Set(["to-send", "uncertain", "under-way"]);

export const progressOf = <Change>(
  change: Change,
  writes: readonly NewOutboxEntry[],
  entries: readonly OutboxEntry[],
): Progress<Change> => ({ change, writes, entries, kind: kindOf(entries, writes.length) });

function kindOf(entries: readonly OutboxEntry[], writeCount: number): Progress<unknown>["kind"] {
  const last = entries.at(-1);
  if (last === undefined || last.state === "applied") return entries.length < writeCount ? "to-add" : "applied";
  if (last.state === "pending") return whyNotCanceled(last) === undefined ? "to-send" : "uncertain";
  return last.state === "sending" ? "under-way" : last.state;
}

/** The error of the last entry; an empty string if there is none. */
export const reasonOf = ({ entries }: Progress<unknown>): string =>
  String(fieldOf(entries.at(-1)?.error, "message") ?? "").replace(/\.+$/, "");

/** Of a change with several writes, how many were applied. */
export function describeProgress({ entries, writes }: Progress<unknown>, reason: string): string {
  const applied = entries.filter(({ state }) => state === "applied").length;
  return applied === 0 ? reason : `${applied} of ${writes.length} writes were applied. ${reason}`;
}
