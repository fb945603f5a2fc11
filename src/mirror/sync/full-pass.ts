import { probeModifiedSince } from "../../client/for-add-ons.js";
import type { UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { type ListState, unlistedAfter } from "../copy/state.js";
import { hasIncrements } from "./increment.js";
import { NotResumableError } from "./list-reader.js";
import { type ListUpdate, laterTimeOf, type WrittenPages } from "./list-update.js";
import { ListedRecords, removeUnseenRecords } from "./removals.js";

export interface FullPassEnd {
  /** False if a part of the list was read before an interruption. */
  readFromStart: boolean;
  /** Numbers of records that an increment must list too, see {@link ListUpdate.writePages}. */
  expectedInIncrement: readonly number[];
  /** Set if too many records would have been removed. None was. */
  refusal: UnexpectedRemovalsError | undefined;
}

/** Reads the whole list, or the rest of it after an interruption, and removes the records that the service no longer has. */
export async function makeFullPass(update: ListUpdate): Promise<FullPassEnd> {
  const startedAtMs = monotonicNowMs();
  const read = await readWholeList(update);
  // The confirming pass if `read.listed` needed one, which always reads from the start; otherwise `read.listed` itself.
  const { decisive, refusal } = await removeUnseenRecords(update, read.listed);
  const { count, lastPass } = update.state;
  const { readFromStart, shortage } = decisive;
  const increments = await incrementsAfter(update, read, decisive);
  const endedAt = Date.now();
  const times = { beganAt: read.beganAt, endedAt, readFromStart };
  await update.save({
    pass: undefined,
    hasRefused: refusal ? true : undefined,
    // Refused removals, which took place after the last run, are not in the copy.
    asOf: refusal ? update.asOfBefore : asOfAfter(update.changesKnownUntil ?? 0, times),
    lacking: decisive.total - count,
    staleUntil: staleUntilAfter(times, update.state.staleUntil, hasIncrements({ increments })),
    increments,
    lastPass: {
      endedAt,
      durationMs: monotonicNowMs() - startedAtMs,
      shortage,
      unlisted: unlistedAfter(lastPass, shortage),
    },
  });
  update.changesReadUntil = undefined;
  return { readFromStart, expectedInIncrement: read.expectedInIncrement, refusal };
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
  { total, readFromStart }: ListedRecords,
): Promise<ListState["increments"]> {
  const { increments, count } = state;
  const mustProbe = increments.support === undefined || (increments.support === "ignored" && settings.full);
  const probedSince = increments.since ?? since ?? Date.now();
  return {
    ...increments,
    support: mustProbe
      ? await probeModifiedSince((from) => reader.count(from), Math.min(count, total), probedSince)
      : increments.support,
    // What was read before an interruption may have changed since then, so the next increment begins no later than before.
    since: readFromStart ? since : (increments.since ?? since),
    newestModified: laterTimeOf(increments.newestModified, newest),
  };
}

/**
 * Until when the copy may be stale after a full pass, by what was known before it (`staleUntil`):
 *
 * - resumed, and there are no increments: until its end. Only the next one shows what has changed since it was interrupted;
 * - it was stale until before the pass began: no more, the pass has read what differed;
 * - it was stale until after the end of the pass, which has read everything: no more. The clock was set back since that was
 *   noted, so the pass began later after all;
 * - otherwise as before.
 */
function staleUntilAfter(
  { beganAt, endedAt, readFromStart }: { beganAt: number; endedAt: number; readFromStart: boolean },
  staleUntil: number | undefined,
  hasIncrements: boolean,
): number | undefined {
  if (!readFromStart && !hasIncrements) return endedAt;
  if (staleUntil === undefined || staleUntil <= beganAt) return undefined;
  return readFromStart && staleUntil > endedAt ? undefined : staleUntil;
}

interface ReadList extends WrittenPages {
  listed: ListedRecords;
  /** When it began, before any interruption, by this machine's clock, in ms. */
  beganAt: number;
  /** The same by the service's clock. */
  since: number | undefined;
}

/** Reads the whole list, or the rest of it. If it cannot be resumed, it is read again: records in the copy do no harm. */
async function readWholeList(update: ListUpdate): Promise<ReadList> {
  try {
    return await readRestOfList(update);
  } catch (error) {
    if (!(error instanceof NotResumableError)) throw error;
    await update.save({ pass: undefined });
    return await readRestOfList(update);
  }
}

/**
 * Reads the list, from the checkpoint of an interrupted pass on. Each page is saved with the checkpoint at which the pass resumes, if it could conclude something
 * then: the first pass always, since it fills the copy, and others if records are listed in the order of their numbers.
 */
async function readRestOfList(update: ListUpdate): Promise<ReadList> {
  const { pass: interrupted, lastPass } = update.state;
  const isFirst = lastPass === undefined;
  const source = update.reader.read({ from: interrupted?.checkpoint });
  const inCopy = await update.copy.numbers(update.list);
  // Somebody may have removed rows from the copy.
  if (inCopy.length !== update.state.count) await update.save({ count: inCopy.length });
  const listed = new ListedRecords(inCopy, interrupted);
  const beganAt = interrupted?.beganAt ?? Date.now();
  const since = () => (interrupted ? interrupted.since : source.since());
  /** Before the page that is being written, which is read again. */
  const passUntilHere = (): ListState["pass"] => {
    const progress = listed.progress;
    const checkpoint = source.checkpoint() ?? interrupted?.checkpoint;
    if (checkpoint === undefined || !(isFirst || progress)) return undefined;
    return { beganAt, since: since(), checkpoint, listed: progress };
  };
  const written = await update.writePages(isFirst ? "first" : "full", source, (page) => {
    const patch = { pass: passUntilHere() };
    listed.add(page);
    return patch;
  });
  if (!isFirst && !listed.isConclusive) throw new NotResumableError("the part before the checkpoint is not known");
  return { listed, beganAt, since: since(), ...written };
}
