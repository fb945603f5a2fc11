import { probeModifiedSince } from "../../client/for-add-ons.js";
import type { UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { type ListState, unlistedAfter } from "../copy/state.js";
import { type ListUpdate, laterTimeOf, type WrittenPages } from "./list-update.js";
import { ListedRecords, removeUnseenRecords } from "./removals.js";

export interface FullPassEnd {
  /** Numbers of records that an increment must list too, see {@link ListUpdate.writePages}. */
  expectedInIncrement: readonly number[];
  /** Set if too many records would have been removed. None was. */
  refusal: UnexpectedRemovalsError | undefined;
}

/** Reads the whole list, and removes the records that the service no longer has. */
export async function makeFullPass(update: ListUpdate): Promise<FullPassEnd> {
  const startedAtMs = monotonicNowMs();
  const read = await readWholeList(update);
  // The confirming pass if `read.listed` needed one, which always reads from the start; otherwise `read.listed` itself.
  const { decisive, refusal } = await removeUnseenRecords(update, read.listed);
  const { count, lastPass } = update.state;
  const { shortage } = decisive;
  const increments = await incrementsAfter(update, read, decisive);
  const endedAt = Date.now();
  const times = { beganAt: read.beganAt, endedAt };
  await update.save({
    hasRefused: refusal ? true : undefined,
    // Refused removals, which took place after the last run, are not in the copy.
    asOf: refusal ? update.asOfBefore : asOfAfter(update.changesKnownUntil ?? 0, times),
    lacking: decisive.total - count,
    staleUntil: staleUntilAfter(times, update.state.staleUntil),
    increments,
    lastPass: {
      endedAt,
      durationMs: monotonicNowMs() - startedAtMs,
      shortage,
      unlisted: unlistedAfter(lastPass, shortage),
    },
  });
  update.changesReadUntil = undefined;
  return { expectedInIncrement: read.expectedInIncrement, refusal };
}

/**
 * Until when the copy has all changes after a full pass. A time that was known is wrong if it is in the future: the clock was
 * set back.
 */
const asOfAfter = (known: number, { beganAt, endedAt }: { beganAt: number; endedAt: number }): number =>
  Math.max(known <= endedAt ? known : 0, Math.min(beganAt, endedAt));

/** What is known of the increments of the list after a full pass. */
async function incrementsAfter(
  { state, settings, reader }: ListUpdate,
  { since, newest }: ReadList,
  { total }: ListedRecords,
): Promise<ListState["increments"]> {
  const { increments, count } = state;
  const mustProbe = increments.support === undefined || (increments.support === "ignored" && settings.full);
  const probedSince = increments.since ?? since ?? Date.now();
  return {
    ...increments,
    support: mustProbe
      ? await probeModifiedSince((from) => reader.count(from), Math.min(count, total), probedSince)
      : increments.support,
    since,
    newestModified: laterTimeOf(increments.newestModified, newest),
  };
}

/**
 * Until when the copy may be stale after a full pass, by what was known before it (`staleUntil`):
 *
 * - it was stale until before the pass began: no more, the pass has read what differed;
 * - it was stale until after the end of the pass, which has read everything: no more. The clock was set back since that was
 *   noted, so the pass began later after all;
 * - otherwise as before.
 */
function staleUntilAfter(
  { beganAt, endedAt }: { beganAt: number; endedAt: number },
  staleUntil: number | undefined,
): number | undefined {
  return staleUntil === undefined || staleUntil <= beganAt || staleUntil > endedAt ? undefined : staleUntil;
}

interface ReadList extends WrittenPages {
  listed: ListedRecords;
  /** When it began, by this machine's clock, in ms. */
  beganAt: number;
  /** The same by the service's clock. */
  since: number | undefined;
}

async function readWholeList(update: ListUpdate): Promise<ReadList> {
  const source = update.reader.read();
  const inCopy = await update.copy.numbers(update.list);
  // Somebody may have removed rows from the copy.
  if (inCopy.length !== update.state.count) await update.save({ count: inCopy.length });
  const listed = new ListedRecords(inCopy);
  const beganAt = Date.now();
  const mode = update.state.lastPass === undefined ? "first" : "full";
  const written = await update.writePages(mode, source, (page) => listed.add(page));
  return { listed, beganAt, since: source.since(), ...written };
}
