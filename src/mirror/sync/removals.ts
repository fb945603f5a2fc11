import { UnexpectedRemovalsError } from "../../errors/index.js";
import { sleep } from "../../time/wait.js";
import type { ListState } from "../copy/state.js";
import type { ListUpdate, SyncSettings } from "./list-update.js";
import { ListedRecords } from "./listed-records.js";

/*
 * When absence means removed: a full pass compares the records that it lists with those of the copy (`ListedRecords`), and
 * `proves` decides about those that it has not listed.
 *
 * A guard follows: a run neither removes a large part of the records, nor do many runs in small parts.
 */

/** What full passes have shown of their list. */
export type ListedFacts = Pick<ListedRecords, "isConclusive" | "isInOrder" | "records" | "total" | "largestTotal">;

/**
 * Whether all records that a full pass has not listed were removed from the service. They were if
 *
 *   it listed as many as the service counts, in the order of their numbers: these never change, so none was missed;
 *   or a `second` pass, which then confirms them, did so;
 *   or both listed as many as the service counts, in any order: a record may have changed its position during one of them.
 *
 * Nothing is proved by a pass that was resumed if what it listed before is not known.
 *
 * @param unlisted Records that the service counts, but does not list.
 */
export function proves(
  first: ListedFacts,
  second: ListedFacts | undefined,
  unlisted: number,
): "all" | "needs-second" | "nothing" {
  // In order, as many as it counted last: records that were removed earlier can hide no other.
  const isOrderedAndComplete = ({ isInOrder, records, total }: ListedFacts) => isInOrder && records + unlisted >= total;
  // If the order may change, as many as it counted at any time.
  const isComplete = (pass: ListedFacts) =>
    pass.isInOrder ? isOrderedAndComplete(pass) : pass.records >= pass.largestTotal;
  if (!first.isConclusive) return "nothing";
  if (isOrderedAndComplete(first)) return "all";
  if (!second) return "needs-second";
  return isOrderedAndComplete(second) || (isComplete(second) && isComplete(first)) ? "all" : "nothing";
}

/** A run may always remove this many records of a resource. */
const MAX_REMOVALS_WITHOUT_CONFIRMATION = 50;

/** How long a run waits before a full pass that confirms many removals, in ms: a service may return nothing for a moment. */
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
 * Removes the records that a full pass has not listed, as described above.
 *
 * @returns the full pass that decided.
 * @throws UnexpectedRemovalsError when too many records would be removed. None was.
 */
export async function removeUnseenRecords(update: ListUpdate, first: ListedRecords): Promise<ListedRecords> {
  const unlisted = update.state.lastPass?.unlisted ?? 0;
  const unseen = first.unseen();
  if (unseen.length === 0) return first;
  const proof = proves(first, undefined, unlisted);
  if (proof !== "needs-second") {
    if (proof === "all") await remove(update, unseen);
    return first;
  }
  const second = await makeConfirmingPass(update, unseen);
  if (proves(first, second, unlisted) === "all") await remove(update, second.unseen());
  return second;
}

/** Removes records, unless they are a large part of those that the copy has or had in the last days. */
async function remove(update: ListUpdate, numbers: number[]): Promise<void> {
  if (numbers.length === 0) return;
  const { allowRemovals, maxRemovedShare } = update.settings;
  const records = largestSize(update.state, Date.now());
  const removals = numbers.length + (records - update.state.count);
  const isUnexpected =
    removals > MAX_REMOVALS_WITHOUT_CONFIRMATION && isLargeRemovedShare(removals, records, maxRemovedShare);
  if (!allowRemovals && isUnexpected) {
    throw new UnexpectedRemovalsError({ resource: update.list.resource, removals, records });
  }
  update.counts.removed += await update.copy.remove(update.list, numbers);
}

/** A second full pass, for the records that the first one has not listed. */
async function makeConfirmingPass(update: ListUpdate, unseen: readonly number[]): Promise<ListedRecords> {
  const { signal, maxRemovedShare, confirmAfterMs } = update.settings;
  if (isLargeRemovedShare(unseen.length, update.state.count, maxRemovedShare)) {
    await sleep(confirmAfterMs, signal);
    signal?.throwIfAborted();
  }
  const listed = new ListedRecords(unseen);
  await update.writePages("full", update.reader.read(), (page, numbers) => {
    listed.add(numbers, page.totalCount);
    return {};
  });
  return listed;
}
