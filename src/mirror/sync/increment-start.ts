import { fieldOf } from "../../errors/unknown-value.js";
import { serviceTimeMs } from "../../schemas/date.js";
import type { NumberedRecord } from "../copy/lists.js";
import type { ListState } from "../copy/state.js";

/** Whether a list honours `modifiedSince`, as far as it is known. */
type ModifiedSinceSupport = ListState["increments"]["support"];

/**
 * The moment since which an increment reads changes, by the service's clock. `undefined` if there are none: the list must
 * honour `modifiedSince`, and responses have a `Date` header.
 */
export const sinceOf = ({ increments: { support, since } }: Pick<ListState, "increments">): number | undefined =>
  support === "honoured" ? since : undefined;

/** Whether changes can be read by increments. */
export const hasIncrements = (state: Pick<ListState, "increments">): boolean => sinceOf(state) !== undefined;

/**
 * True if increments are used or in doubt, so that they must be checked, or if they were abandoned and must be tried
 * `again`.
 */
export function shouldVerifyModifiedSince(support: ModifiedSinceSupport, again: boolean): boolean {
  return support === "honoured" || support === "doubted" || (again && support === "incomplete");
}

/**
 * The support after a check. A record that is removed between full pass and increment is rightly missing, so increments
 * are abandoned only after the second failed check in a row.
 */
export function modifiedSinceSupportAfterCheck(
  support: ModifiedSinceSupport,
  listsAllChanges: boolean,
): ModifiedSinceSupport {
  if (listsAllChanges) return "honoured";
  return support === "honoured" ? "doubted" : "incomplete";
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The latest `modified` of records, in ms of the service's clock; `undefined` if none has a date there. Only items do. */
export function newestModified(records: readonly NumberedRecord[]): number | undefined {
  let newest: number | undefined;
  for (const { record } of records) {
    const modified = serviceTimeMs(fieldOf(record, "modified"));
    if (modified !== undefined) newest = Math.max(newest ?? modified, modified);
  }
  return newest;
}

/** The later of two dates, either of which may be unknown. */
export const laterTimeOf = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);

interface IncrementSettings {
  overlapMs: number;
  /** How far `modified` is behind the service's `Date` header, see {@link lagAfterIncrement}. */
  modifiedLagMs: number;
}

/**
 * The `modifiedSince` of an increment: a little before the last increment or full pass began, by the `Date` header. A service may write its
 * `modified` dates by a clock that is behind. So the increment begins right after the newest `modified` that the list has
 * shown if that is earlier, by a day at most.
 */
export function incrementStart(
  since: number,
  { newestModified: newest }: ListState["increments"],
  { overlapMs, modifiedLagMs }: IncrementSettings,
): Date {
  const start = since - overlapMs - modifiedLagMs;
  if (newest === undefined) return new Date(start);
  return new Date(Math.min(start, Math.max(newest + 1, since - DAY_MS)));
}

/**
 * How far `modified` is behind the `Date` header, after an increment that showed a newer `modified` than all before:
 * the change took place since then, and may be as new as the increment. 0 if it has a date of that time.
 */
export function lagAfterIncrement(newest: number, since: number, startedAt: number, overlapMs: number): number {
  return newest >= since - overlapMs ? 0 : Math.min(startedAt - newest, DAY_MS);
}
