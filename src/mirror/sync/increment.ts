import { SeenKeys } from "../../paging/seen-keys.js";
import { mirrorListOf } from "../copy/lists.js";
import type { ListRun } from "./list-run.js";
import { incrementStart, lagAfterIncrement, laterTimeOf } from "./modified-since.js";

/**
 * Reads the records that were modified since a moment, and since shortly before: clocks and commits are not exact.
 *
 * @returns the numbers of the records that it listed.
 */
export async function readIncrement(run: ListRun, since: number): Promise<SeenKeys> {
  const beganAt = Date.now();
  const source = run.reader.read({ modifiedSince: incrementStartOf(run, since) });
  const seen = new SeenKeys();
  const { newest } = await run.apply("increment", source, (_, numbers) => {
    for (const number of numbers) seen.add(number);
    return {};
  });
  const { pass, increments } = run.state;
  const { newestModified: knownNewest } = increments;
  const startedAt = source.startedAt();
  const firstDate = source.firstDate();
  const { overlapMs } = run.settings;
  const showsNewer = newest !== undefined && knownNewest !== undefined && newest > knownNewest;
  await run.save({
    asOf: beganAt,
    increments: {
      ...increments,
      since: startedAt,
      newestModified: laterTimeOf(knownNewest, newest),
      ...(showsNewer &&
        startedAt !== undefined && { modifiedLagMs: lagAfterIncrement(newest, since, startedAt, overlapMs) }),
    },
    // A clock that was set back dates changes before the start of this increment.
    ...(firstDate !== undefined && firstDate < since - overlapMs && { stale: true }),
    // Records that exist again were not seen by an interrupted full pass.
    ...(pass?.listed && {
      pass: { ...pass, listed: { ...pass.listed, unseen: pass.listed.unseen.filter((number) => !seen.has(number)) } },
    }),
  });
  return seen;
}

/** The `modifiedSince` of an increment. The dates of items show how far all dates of the service are behind. */
export function incrementStartOf(run: ListRun, since: number): Date {
  const { modifiedLagMs = 0 } = run.copy.stateOf(mirrorListOf("items")).increments;
  return incrementStart(since, run.state.increments, { overlapMs: run.settings.overlapMs, modifiedLagMs });
}
