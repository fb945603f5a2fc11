import type { UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { awaitsFullPass, type ListState, surplusOf } from "../copy/state.js";
import type { MirrorReadMode } from "../report.js";
import { type FullPassEnd, makeFullPass } from "./full-pass.js";
import {
  hasIncrements,
  modifiedSinceSupportAfterCheck,
  readIncrement,
  shouldVerifyModifiedSince,
  sinceOf,
} from "./increment.js";
import type { ListUpdate, SyncSettings } from "./list-update.js";
import { refusalOf, sizesWith } from "./removals.js";

/*
 * How the copy of one list is kept equal to the list of the service.
 *
 * A list is read in two ways. A full pass reads all of it, and shows which records were removed. An increment reads what was
 * modified since the last read began. It costs little, and shows no removals.
 *
 * What is known of a list (`ListState`) is saved in the SQL transaction that writes its records. A list is
 *
 *   new         no full pass has ended;
 *   complete    a full pass has ended: `lastPass`.
 *
 * A full pass that is interrupted begins again.
 *
 * state.ts describes the other members. The copy differs if it may be stale (`staleUntil`), or has another number of records
 * than the service lists (`surplusOf`). Only a full pass corrects that. The status shows it as `awaitsFullPass`, as it does
 * refused removals.
 *
 * One run takes two steps. `readsOf` decides what they read, as far as that does not depend on counts. All lists take the first
 * before any takes the second, so that an interrupted run has all changes.
 *
 *   1. `fillOrReadChanges`
 *      new: a full pass. The list is complete then.
 *      complete: an increment, if the list has any, and unless all of it is to be read (`full`).
 *   2. `makeFullPassIfNeeded`
 *      Step 1 has read everything:          nothing more.
 *      Step 1 has made no full pass, and one is due, because it is time, or there are no increments:
 *      a full pass.
 *      Removals are allowed (`allowRemovals`), and the status shows `awaitsFullPass`:          a full pass.
 *      Otherwise the copy is compared with the service's count.
 *      Removals were refused, and by the count as many records are still gone:          refused again.
 *      If records are newly lacking, a second increment reads them: they may have been added since the first one, or before
 *      it without a date.
 *      The copy differs:          a full pass, unless the last one was long and recent. Then a later run makes it.
 *
 * After a full pass, an increment must list what the pass found changed (increment.ts).
 *
 * Only a full pass removes records, at its end: removals.ts describes when absence means removed. If it refuses to, it has
 * ended anyway, so the next one is due as usual.
 */

/** A full pass that takes less time may run again immediately. */
const MAX_SHORT_FULL_PASS_MS = 60_000;

/** The largest share of the time that additional full passes may take. */
const MAX_REPAIR_TIME_SHARE = 0.1;

/** The time since the last full pass ended. If that was in the future, the clock was set back: then it is long ago. */
const sinceLastPassMs = ({ lastPass }: Pick<ListState, "lastPass">, now: number): number =>
  lastPass === undefined || lastPass.endedAt > now ? Number.MAX_VALUE : now - lastPass.endedAt;

/** True if everything is to be read: it is time, or there are no increments. */
export const isFullPassDue = (
  state: ListState,
  { full, fullPassEveryMs }: Pick<SyncSettings, "full" | "fullPassEveryMs">,
  now: number,
): boolean => full || !hasIncrements(state) || sinceLastPassMs(state, now) >= fullPassEveryMs;

/** What a run reads of a list, in order, whatever the counts show. */
export function readsOf(state: ListState, settings: SyncSettings, now: number): MirrorReadMode[] {
  if (!state.lastPass) return ["first"];
  const isFull = isFullPassDue(state, settings, now) || mustRemove(state, settings);
  return [
    // It would add nothing to a pass that reads everything.
    ...(hasIncrements(state) && !settings.full ? ["increment" as const] : []),
    ...(isFull ? ["full" as const] : []),
  ];
}

/** True if removals are allowed that an earlier run has refused, or may have left. */
const mustRemove = (state: ListState, { allowRemovals }: SyncSettings): boolean =>
  allowRemovals && awaitsFullPass(state);

/** True if an additional full pass may run now. A long one does not run again and again for a few records. */
export const wasLastPassShortOrLongAgo = ({ lastPass }: Pick<ListState, "lastPass">, now: number): boolean =>
  lastPass === undefined ||
  lastPass.durationMs < MAX_SHORT_FULL_PASS_MS ||
  sinceLastPassMs({ lastPass }, now) >= lastPass.durationMs / MAX_REPAIR_TIME_SHARE;

/** What step 1 has done. */
export interface Begun {
  update: ListUpdate;
  /** The full pass that has filled the copy, if it was new. */
  firstPass: FullPassEnd | undefined;
}

/** Step 1: fills a new copy, or reads the records that were modified since the last run. */
export const fillOrReadChanges = (update: ListUpdate): Promise<Begun> =>
  update.measure(async () => {
    const reads = readsOf(update.state, update.settings, Date.now());
    const firstPass = reads.includes("first") ? await makeVerifiedFullPass(update) : undefined;
    const since = sinceOf(update.state);
    if (reads.includes("increment") && since !== undefined) await readIncrement(update, since);
    return { update, firstPass };
  });

/** Step 2. Returns what this step or the first one has refused: too many records would have been removed. None was. */
export async function makeFullPassIfNeeded(begun: Begun): Promise<UnexpectedRemovalsError | undefined> {
  const { update } = begun;
  const refusal = await update.measure(() => removeOrRepair(begun));
  const sizes = sizesWith(update.state, Date.now(), update.settings);
  if (sizes !== update.state.sizes) await update.save({ sizes });
  return refusal;
}

async function removeOrRepair(begun: Begun): Promise<UnexpectedRemovalsError | undefined> {
  const { update, firstPass } = begun;
  const fullPass = async () => (await makeVerifiedFullPass(update)).refusal;
  if (firstPass) return firstPass.refusal;
  // It is needed whatever the counts show.
  if (readsOf(update.state, update.settings, Date.now()).includes("full")) return await fullPass();
  const lackedBefore = surplusOf(update.state) < 0;
  const refusedAgain = await compareCounts(update);
  if (refusedAgain) return refusedAgain;
  // Those that it lacked before, the increment of step 1 has not shown either.
  if (!lackedBefore) await readLackingRecords(update);
  return mayRepair(update) ? await fullPass() : undefined;
}

/** A second increment, if the copy lacks records that the service lists. */
async function readLackingRecords(update: ListUpdate): Promise<void> {
  const since = sinceOf(update.state);
  if (surplusOf(update.state) < 0 && since !== undefined) await readIncrement(update, since);
}

/** True if the copy differs, and an additional full pass may correct that now. */
function mayRepair({ state }: ListUpdate): boolean {
  // Without increments, the next run makes a full pass anyway.
  const isStale = state.staleUntil !== undefined && hasIncrements(state);
  return (surplusOf(state) !== 0 || isStale) && wasLastPassShortOrLongAgo(state, Date.now());
}

/** A full pass, after which increments are checked against it. */
async function makeVerifiedFullPass(update: ListUpdate): Promise<FullPassEnd> {
  // From before the pass: an increment since then must list what the pass finds changed. Not `sinceOf`: increments that
  // are doubted or were abandoned are checked, too.
  const { since } = update.state.increments;
  const pass = await makeFullPass(update);
  const { support } = update.state.increments;
  const mustVerify = shouldVerifyModifiedSince(support, update.settings.full);
  if (since !== undefined && pass.expectedInIncrement.length > 0 && mustVerify) {
    const seen = await readIncrement(update, since);
    const listsAllChanges = pass.expectedInIncrement.every((number) => seen.has(number));
    const checked = modifiedSinceSupportAfterCheck(support, listsAllChanges);
    await update.save({ increments: { ...update.state.increments, support: checked } });
  }
  // Without increments, the difference may be changes that were not read yet.
  if (!pass.refusal && update.state.increments.support === "honoured") await compareCounts(update);
  return pass;
}

/**
 * Saves how many records the copy lacks, and that it has all changes. What existed before the increment is in the copy. A record
 * that was added since hides one that was removed, but only in this run: the increment of the next one reads what was added.
 *
 * Returns the refusal of removals that were refused before, if by the count as many records are still gone. Otherwise it ends.
 */
async function compareCounts(update: ListUpdate): Promise<UnexpectedRemovalsError | undefined> {
  const lacking = (await update.reader.count()) - update.state.count;
  const { asOf, hasRefused } = update.state;
  const refusal = hasRefused ? refusalOf(update, Math.max(0, surplusOf({ ...update.state, lacking }))) : undefined;
  await update.save({
    lacking,
    hasRefused: refusal && true,
    asOf: refusal ? asOf : update.changesKnownUntil,
  });
  return refusal;
}
