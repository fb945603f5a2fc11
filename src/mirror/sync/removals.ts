import { UnexpectedRemovalsError } from "../../errors/index.js";
import { monotonicNowMs } from "../../time/clock.js";
import { sleep } from "../../time/wait.js";
import type { ListState } from "../copy/state.js";
import type { ListRun, SyncSettings } from "./list-run.js";
import { ListedRecords } from "./listed-records.js";

/** A run may always remove this many records of a resource. */
const MAX_REMOVALS_WITHOUT_CONFIRMATION = 50;

/** A second full pass that confirms many removals begins this long after the first, in ms: a service may return nothing for a moment. */
export const REMOVAL_CONFIRMATION_DELAY_MS = 3_000;

/** The guard compares with the largest size of this many days, so that many small removals cannot drain a copy unnoticed. */
const REMEMBERED_DAYS = 7;
const DAY_MS = 86_400_000;

const dayOf = (time: number) => Math.floor(time / DAY_MS);

/** The largest size of the list in the last days, or since removals were confirmed. */
const largestSize = ({ count, sizes = [] }: ListState, now: number) =>
  Math.max(count, ...sizes.flatMap(([day, size]) => (day > dayOf(now) - REMEMBERED_DAYS ? size : [])));

/** The sizes to remember after a run; the same array if nothing has changed. */
export function sizesAfterRun(
  { count, sizes = [] }: ListState,
  now: number,
  { allowRemovals }: Pick<SyncSettings, "allowRemovals">,
): ListState["sizes"] {
  const today = dayOf(now);
  if (allowRemovals) return [[today, count]];
  if (sizes.some(([day, size]) => day === today && size >= count)) return sizes;
  const others = sizes.filter(([day]) => day > today - REMEMBERED_DAYS && day !== today);
  return [...others, [today, count]];
}

/** True if this number of removals is a large part of the records. */
const isLargeRemovedShare = (removals: number, records: number, maxRemovedShare: number) =>
  removals > records * maxRemovedShare;

/**
 * Removes the records that a full pass has not listed. If records are not listed in the order of their numbers, a record
 * may have changed its position while the list was read. Then a second full pass decides, and also if no record was listed
 * at all. Nothing is removed if fewer records were listed than the service reports.
 *
 * @returns the full pass that decided.
 * @throws UnexpectedRemovalsError when too many records would be removed. None was.
 */
export async function removeUnseenRecords(run: ListRun, first: ListedRecords): Promise<ListedRecords> {
  const unlisted = run.state.lastPass?.unlisted ?? 0;
  const { allowRemovals, maxRemovedShare } = run.settings;
  let decisive = first;
  let unseen = first.unseen();
  if (unseen.length > 0 && !(first.isInOrder && first.isComplete(unlisted))) {
    decisive = await readListAgain(run, first, unseen);
    unseen = decisive.unseen();
  }
  const isCertain = decisive.isComplete(unlisted) && (decisive.isInOrder || first.isComplete(unlisted));
  if (isCertain && unseen.length > 0) {
    const { count } = run.state;
    const records = largestSize(run.state, Date.now());
    const removals = unseen.length + (records - count);
    const isUnexpected =
      removals > MAX_REMOVALS_WITHOUT_CONFIRMATION && isLargeRemovedShare(removals, records, maxRemovedShare);
    if (!allowRemovals && isUnexpected) {
      throw new UnexpectedRemovalsError({ resource: run.list.resource, removals, records });
    }
    run.counts.removed += await run.copy.remove(run.list, unseen);
  }
  return decisive;
}

/** Makes a second full pass, for the records that the first one has not seen. */
async function readListAgain(run: ListRun, first: ListedRecords, unseen: readonly number[]): Promise<ListedRecords> {
  const { signal, maxRemovedShare, confirmAfterMs } = run.settings;
  if (isLargeRemovedShare(unseen.length, run.state.count, maxRemovedShare)) {
    await sleep(first.beganAt + confirmAfterMs - monotonicNowMs(), signal);
    signal?.throwIfAborted();
  }
  const second = new ListedRecords(unseen);
  await run.apply("full", run.reader.read(), (page, numbers) => {
    second.add(numbers, page.totalCount);
    return {};
  });
  return second;
}
