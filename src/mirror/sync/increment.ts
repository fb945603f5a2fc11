import { SeenKeys } from "../../paging/seen-keys.js";
import { mirrorListOf } from "../copy/lists.js";
import type { MirrorResource } from "../tables.js";
import { incrementStart, lagAfterIncrement, laterTimeOf } from "./modified-dates.js";
import type { SyncedList } from "./synced-list.js";

/** Reads the records that were modified since shortly before the last scan began: clocks and commits are not exact. */
export async function readIncrement<R extends MirrorResource>(
  synced: SyncedList<R>,
  watermark: number,
): Promise<SeenKeys> {
  const beganAt = Date.now();
  const { newestModified: knownNewest } = synced.state;
  const source = synced.reader.scan({ modifiedSince: incrementStartOf(synced, watermark) });
  const seen = new SeenKeys();
  const { newest } = await synced.write("increment", source, (_, numbers) => {
    for (const number of numbers) seen.add(number);
    return {};
  });
  const { stale, scanned, modifiedLagMs } = synced.state;
  const startedAt = source.startedAt();
  const firstDate = source.firstDate();
  const { overlapMs } = synced.settings;
  // A clock that was set back dates changes before the start of this increment.
  const wasSetBack = firstDate !== undefined && firstDate < watermark - overlapMs;
  const showsNewer = newest !== undefined && knownNewest !== undefined && newest > knownNewest;
  await synced.save({
    watermark: startedAt,
    asOf: beganAt,
    newestModified: laterTimeOf(knownNewest, newest),
    modifiedLagMs:
      showsNewer && startedAt !== undefined
        ? lagAfterIncrement(newest, watermark, startedAt, overlapMs)
        : modifiedLagMs,
    ...(wasSetBack && { stale: true }),
    ...(stale && { stale }),
    // Records that exist again were not seen by an interrupted pass.
    ...(scanned && { scanned: { ...scanned, unseen: scanned.unseen.filter((number) => !seen.has(number)) } }),
  });
  return seen;
}

/** The `modifiedSince` of an increment. */
export function incrementStartOf<R extends MirrorResource>(synced: SyncedList<R>, watermark: number): Date {
  const { modifiedLagMs = 0 } = synced.copy.stateOf(mirrorListOf("items"));
  return incrementStart(watermark, synced.state, { overlapMs: synced.settings.overlapMs, modifiedLagMs });
}
