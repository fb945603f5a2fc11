import { SeenKeys } from "../../paging/seen-keys.js";
import { mirrorListOf } from "../copy/lists.js";
import { incrementStart, lagAfterIncrement, laterTimeOf } from "./increment-start.js";
import type { ListUpdate } from "./list-update.js";

/**
 * Reads the records that were modified since a moment, and since shortly before: clocks and commits are not exact.
 *
 * @returns the numbers of the records that it listed.
 */
export async function readIncrement(update: ListUpdate, since: number): Promise<SeenKeys> {
  const beganAt = Date.now();
  const source = update.reader.read({ modifiedSince: modifiedSinceFor(update, since) });
  const seen = new SeenKeys();
  const { newest } = await update.writePages("increment", source, ({ records }) => {
    for (const { number } of records) seen.add(number);
    return undefined;
  });
  const { pass, increments, asOf, hasRefused } = update.state;
  const { newestModified: knownNewest } = increments;
  const nextSince = source.since();
  const firstDate = source.firstDate();
  const { overlapMs } = update.settings;
  const showsNewer = newest !== undefined && knownNewest !== undefined && newest > knownNewest;
  await update.save({
    asOf: hasRefused ? asOf : beganAt,
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
    // Records that exist again were not seen by an interrupted full pass.
    ...(pass?.listed && {
      pass: { ...pass, listed: { ...pass.listed, unseen: pass.listed.unseen.filter((number) => !seen.has(number)) } },
    }),
  });
  return seen;
}

/** The `modifiedSince` of an increment. The dates of items show how far all dates of the service are behind. */
export function modifiedSinceFor(update: ListUpdate, since: number): Date {
  const { modifiedLagMs = 0 } = update.copy.stateOf(mirrorListOf("items")).increments;
  return incrementStart(since, update.state.increments, { overlapMs: update.settings.overlapMs, modifiedLagMs });
}
