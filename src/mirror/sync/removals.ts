import { UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { sleep } from "../../shared/time/wait.js";
import type { ListState } from "../copy/state.js";
import type { ListUpdate, SyncSettings } from "./list-update.js";

/*
 * When absence means removed: a full pass compares the records that it lists with those of the copy (`ListedRecords`), and
 * `proves` decides about those that it has not listed.
 *
 * A guard follows: a run neither removes a large part of the records, nor do many runs in small parts.
 */

/**
 * The records that a full pass has listed, compared with those that it should find: which of these were not listed.
 */
export class ListedRecords {
  /** How many records were listed. */
  records = 0;
  /** How many records the service counted last. */
  total = 0;
  /** How many it counted at most. */
  largestTotal = 0;
  #lastNumber = Number.NEGATIVE_INFINITY;
  #isInOrder = true;
  readonly #seen = new Set<number>();
  /** The numbers to find, in ascending order. */
  readonly #numbers: Float64Array;
  /** Those of the first `#compared` numbers that were not seen. */
  readonly #unseen: number[] = [];
  #compared = 0;

  /** @param numbersToFind Those of the copy; in a confirming pass, those that the pass before has not listed. */
  constructor(numbersToFind: readonly number[]) {
    this.#numbers = Float64Array.from(numbersToFind).sort();
  }

  add({ records, totalCount }: { records: readonly { number: number }[]; totalCount: number }): void {
    this.records += records.length;
    this.total = totalCount;
    this.largestTotal = Math.max(this.largestTotal, totalCount);
    for (const { number } of records) {
      this.#isInOrder &&= number > this.#lastNumber;
      this.#lastNumber = number;
      this.#seen.add(number);
    }
    if (this.#isInOrder) this.#compareUntil(this.#lastNumber);
  }

  /** True if records were listed, in the order of their numbers. */
  get isInOrder(): boolean {
    return this.#isInOrder && this.records > 0;
  }

  /** How many fewer records were listed than the service counts; 0 if that is not known. */
  get shortage(): number {
    return this.isInOrder ? Math.max(0, this.total - this.records) : 0;
  }

  /** Records of the copy that were not listed, once the end of the list is reached. */
  unseen(): number[] {
    this.#compareUntil(Number.POSITIVE_INFINITY);
    return this.#unseen.filter((number) => !this.#seen.has(number));
  }

  #compareUntil(last: number): void {
    for (let number = this.#numbers[this.#compared]; number !== undefined && number <= last; ) {
      if (!this.#seen.has(number)) this.#unseen.push(number);
      this.#compared += 1;
      number = this.#numbers[this.#compared];
    }
  }
}

/** What full passes have shown of their list. */
type ListedFacts = Pick<ListedRecords, "isInOrder" | "records" | "total" | "largestTotal">;

/**
 * Whether all records that a full pass has not listed were removed from the service. They were if
 *
 *   it listed as many as the service counts, in the order of their numbers: these never change, so none was missed;
 *   or a `confirming` pass, which follows in the same run, did so;
 *   or both listed as many as the service counts, in any order: a record may have changed its position during one of them.
 *
 * @param unlisted Records that the service counts, but does not list.
 */
export function proves(
  pass: ListedFacts,
  confirming: ListedFacts | undefined,
  unlisted: number,
): "all" | "needs-confirmation" | "nothing" {
  // In order, as many as it counted last: records that were removed earlier can hide no other.
  const isOrderedAndComplete = ({ isInOrder, records, total }: ListedFacts) => isInOrder && records + unlisted >= total;
  // If the order may change, as many as it counted at any time.
  const isComplete = (facts: ListedFacts) =>
    facts.isInOrder ? isOrderedAndComplete(facts) : facts.records >= facts.largestTotal;
  if (isOrderedAndComplete(pass)) return "all";
  if (!confirming) return "needs-confirmation";
  return isOrderedAndComplete(confirming) || (isComplete(confirming) && isComplete(pass)) ? "all" : "nothing";
}

/** The guard allows this many removals of a list in the remembered days, however large a part of the records they are. */
const MAX_UNGUARDED_REMOVALS = 50;

/** How long a run waits before a confirming pass if many records were not listed, in ms: a service may return nothing for a moment. */
export const CONFIRMING_PASS_DELAY_MS = 3_000;

/** The guard compares with the largest size of this many days, so that many small removals cannot drain a copy unnoticed. */
const REMEMBERED_DAYS = 7;
const DAY_MS = 86_400_000;

const dayOf = (time: number) => Math.floor(time / DAY_MS);

/** The largest size of the list in the remembered days, or since `allowRemovals`. */
const largestSize = ({ count, sizes = [] }: ListState, now: number) =>
  Math.max(count, ...sizes.flatMap(([day, size]) => (day > dayOf(now) - REMEMBERED_DAYS ? size : [])));

/** The sizes to remember with this number of records; the same array if nothing has changed. */
export function sizesWith(
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
 * The refusal to remove this many records, if they are, with those removed before, a large part of what the copy had at most
 * in the remembered days. `undefined` if they may be removed.
 */
export function refusalOf(
  { list, state, settings }: ListUpdate,
  unseenCount: number,
): UnexpectedRemovalsError | undefined {
  if (settings.allowRemovals || unseenCount === 0) return undefined;
  const records = largestSize(state, Date.now());
  const earlier = records - state.count;
  const removals = earlier + unseenCount;
  if (removals <= MAX_UNGUARDED_REMOVALS) return undefined;
  if (!isLargeRemovedShare(removals, records, settings.maxRemovedShare)) return undefined;
  return new UnexpectedRemovalsError({ resource: list.resource, removals, records, earlier });
}

/** How the records were handled that a full pass has not listed. */
interface UnseenRecordsEnd {
  /** The full pass that decided: the confirming one if there was one, also if it proved nothing; otherwise this one. */
  decisive: ListedRecords;
  /** Set if the records are to be removed, and none was. */
  refusal?: UnexpectedRemovalsError | undefined;
}

/** Removes the records that a full pass has not listed, as described above. */
export async function removeUnseenRecords(update: ListUpdate, pass: ListedRecords): Promise<UnseenRecordsEnd> {
  const unlisted = update.state.lastPass?.unlisted ?? 0;
  const unseen = pass.unseen();
  if (unseen.length === 0) return { decisive: pass };
  const proof = proves(pass, undefined, unlisted);
  if (proof === "nothing") return { decisive: pass };
  if (proof === "all") return { decisive: pass, refusal: await remove(update, unseen) };
  const confirming = await makeConfirmingPass(update, unseen);
  const isProved = proves(pass, confirming, unlisted) === "all";
  return { decisive: confirming, refusal: isProved ? await remove(update, confirming.unseen()) : undefined };
}

/** Removes records, or returns the refusal. */
async function remove(update: ListUpdate, numbers: number[]): Promise<UnexpectedRemovalsError | undefined> {
  const refusal = refusalOf(update, numbers.length);
  if (refusal) return refusal;
  // The copy had these records until now, however long ago the last run was. Those that this run has added do not count: the
  // service may never have had them together with those that are removed.
  const sizes = sizesWith({ ...update.state, count: update.countBefore }, Date.now(), update.settings);
  update.counts.removed += await update.copy.remove(update.list, numbers, { sizes });
  return undefined;
}

/** Another full pass, for the records that this one has not listed. */
async function makeConfirmingPass(update: ListUpdate, unseen: readonly number[]): Promise<ListedRecords> {
  const { signal, maxRemovedShare, confirmingPassDelayMs } = update.settings;
  // Unlike the guard, by what the copy has now: the service may list only a part of it for a moment.
  if (isLargeRemovedShare(unseen.length, update.state.count, maxRemovedShare)) {
    await sleep(confirmingPassDelayMs, signal);
    signal?.throwIfAborted();
  }
  const listed = new ListedRecords(unseen);
  await update.writePages("full", update.reader.read(), (page) => listed.add(page));
  return listed;
}
