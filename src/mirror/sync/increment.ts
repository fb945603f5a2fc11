import { awaitsFullPass, type ListState } from "../copy/state.js";
import { mirrorListOf } from "../tables.js";
import { type ListUpdate, laterTimeOf } from "./list-update.js";

/**
 * Reads the records that were modified since a moment, and since shortly before: clocks and commits are not exact.
 *
 * @returns the numbers of the records that it listed.
 */
export async function readIncrement(update: ListUpdate, since: number): Promise<ReadonlySet<number>> {
  const beganAt = Date.now();
  const source = update.reader.read(modifiedSinceFor(update, since));
  const seen = new Set<number>();
  const { newest } = await update.writePages("increment", source, ({ records }) => {
    for (const { number } of records) seen.add(number);
  });
  const { increments, asOf, hasRefused } = update.state;
  const { newestModified: knownNewest } = increments;
  const nextSince = source.since();
  const firstDate = source.firstDate();
  const { overlapMs } = update.settings;
  const showsNewer = newest !== undefined && knownNewest !== undefined && newest > knownNewest;
  update.changesReadUntil = beganAt;
  await update.save({
    // While `awaitsFullPass` warns readers of removed records, it moves now; otherwise in `compareCounts`, which would
    // notice removals.
    asOf: awaitsFullPass(update.state) && !hasRefused ? beganAt : asOf,
    increments: {
      ...increments,
      since: nextSince,
      newestModified: laterTimeOf(knownNewest, newest),
      ...(showsNewer &&
        nextSince !== undefined && {
          modifiedLagMs: lagAfterIncrement(newest, since, nextSince, overlapMs),
        }),
    },
    // A clock that was set back dates changes before the start of this increment.
    ...(firstDate !== undefined && firstDate < since - overlapMs && { staleUntil: Date.now() }),
  });
  return seen;
}

/** The `modifiedSince` of an increment. The dates of items show how far all dates of the service are behind. */
function modifiedSinceFor(update: ListUpdate, since: number): Date {
  const { modifiedLagMs = 0 } = update.copy.stateOf(mirrorListOf("items")).increments;
  return incrementStart(since, update.state.increments, { overlapMs: update.settings.overlapMs, modifiedLagMs });
}

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
