import { UnexpectedRemovalsError } from "../../errors/index.js";
import { sleep } from "../../time/sleep.js";
import type { MirrorResource } from "../tables.js";
import { FullScan } from "./full-scan.js";
import type { SyncedList } from "./synced-list.js";

/** A run may always remove this many records of a resource. */
const MAX_REMOVALS_WITHOUT_CONFIRMATION = 50;

/** A second pass that confirms many removals begins this long after the first, in ms: a service may return nothing for a moment. */
export const REMOVAL_CONFIRMATION_DELAY_MS = 3_000;

/** True if this number of removals requires a confirmation by the caller. */
const areRemovalsUnexpected = (removals: number, records: number, maxRemovedShare: number) =>
  removals > MAX_REMOVALS_WITHOUT_CONFIRMATION && isLargeRemovedShare(removals, records, maxRemovedShare);

/** True if this number of removals is a large part of the copy, even of a small one. */
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
    if (!allowRemovals && areRemovalsUnexpected(unseen.length, count, maxRemovedShare)) {
      throw new UnexpectedRemovalsError({ resource: synced.list.resource, removals: unseen.length, records: count });
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
    await sleep(first.beganAt + confirmAfterMs - performance.now(), signal);
    signal?.throwIfAborted();
  }
  const second = new FullScan(unseen);
  await synced.write("full", synced.reader.scan(), (page, numbers) => {
    second.add(numbers, page.totalCount);
    return {};
  });
  return second;
}
