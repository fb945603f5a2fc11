import { UnexpectedRemovalsError } from "../../errors/index.js";
import { monotonicNowMs } from "../../time/clock.js";
import { sleep } from "../../time/wait.js";
import type { ListState } from "../copy/state.js";
import type { MirrorResource } from "../tables.js";
import { FullScan } from "./full-scan.js";
import type { SyncedList, SyncSettings } from "./synced-list.js";

/** A run may always remove this many records of a resource. */
const MAX_REMOVALS_WITHOUT_CONFIRMATION = 50;

/** A second pass that confirms many removals begins this long after the first, in ms: a service may return nothing for a moment. */
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
 * Removes the records that a scan of the whole list has not seen. If records are not listed in the order of their
 * numbers, a record may have changed its position while the list was read. Then a second scan decides, and also if no
 * record was listed at all. Nothing is removed if fewer records were listed than the service reports.
 *
 * @returns the scan that decided.
 * @throws UnexpectedRemovalsError when too many records would be removed. None was.
 */
export async function removeUnseenRecords<R extends MirrorResource>(
  synced: SyncedList<R>,
  scan: FullScan,
): Promise<FullScan> {
  const { unlisted = 0 } = synced.state;
  const { allowRemovals, maxRemovedShare } = synced.settings;
  let decisive = scan;
  let unseen = scan.unseen();
  if (unseen.length > 0 && !(scan.isInOrder && scan.isComplete(unlisted))) {
    decisive = await readListAgain(synced, scan, unseen);
    unseen = decisive.unseen();
  }
  const isCertain = decisive.isComplete(unlisted) && (decisive.isInOrder || scan.isComplete(unlisted));
  if (isCertain && unseen.length > 0) {
    const { count } = synced.state;
    const records = largestSize(synced.state, Date.now());
    const removals = unseen.length + (records - count);
    const isUnexpected =
      removals > MAX_REMOVALS_WITHOUT_CONFIRMATION && isLargeRemovedShare(removals, records, maxRemovedShare);
    if (!allowRemovals && isUnexpected) {
      throw new UnexpectedRemovalsError({ resource: synced.list.resource, removals, records });
    }
    synced.counts.removed += await synced.copy.remove(synced.list, unseen);
  }
  return decisive;
}

/** Does a second scan, for the records that the first one has not seen. */
async function readListAgain<R extends MirrorResource>(
  synced: SyncedList<R>,
  first: FullScan,
  unseen: readonly number[],
): Promise<FullScan> {
  const { signal, maxRemovedShare, confirmAfterMs } = synced.settings;
  if (isLargeRemovedShare(unseen.length, synced.state.count, maxRemovedShare)) {
    await sleep(first.beganAt + confirmAfterMs - monotonicNowMs(), signal);
    signal?.throwIfAborted();
  }
  const second = new FullScan(unseen);
  await synced.write("full", synced.reader.scan(), (page, numbers) => {
    second.add(numbers, page.totalCount);
    return {};
  });
  return second;
}
