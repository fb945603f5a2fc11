import { BulkRequests } from "../../bulk/requests.js";
import { ConnectionError, PaginationError } from "../../client/index.js";
import {
  cancelUnsent,
  MAX_TAKEOVERS,
  type Outbox,
  parsed,
  type SenderAccess,
  type StoredEntry,
} from "../../outbox/for-rooms.js";
import type { OutboxEntryInput } from "../../outbox/index.js";
import { comparableSku } from "../../service/key.js";
import { isNoSuchItem } from "../../shared/errors/api-errors.js";
import { groupBy } from "../../shared/group-by.js";
import { callSafely } from "../../shared/time/callback.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { fieldOf } from "../../shared/unknown.js";
import { FailuresInARow } from "../../writes/failures-in-a-row.js";
import { MAX_AGE_MS, type PlanApplyOptions, SlowItems, TOO_SLOW } from "../report.js";
import type { CountChange, CountPlanContent, ReportedGroup } from "./document.js";
import { type BookLot, bookLotOf, type CountGroup, describeMovement, lotsByItem, lotsOfGroup } from "./group.js";
import { readBookLots } from "./snapshot.js";

/*
 * The corrections of a count are differences: a correction that is sent twice is booked twice, and no list shows an
 * issue whose response was lost. So they go through an outbox, item by item, while no other process sends:
 *
 *   open     open entries of the item are sent or looked up. Entries that an earlier `apply` did not send are canceled
 *   read     the lots of the item are read. A group without entries is due if its lots are those of the plan, otherwise
 *            stale. All groups without entries are stale if the item still has an open entry, or if two readings took
 *            more than ten minutes each. Five items in a row with such slow readings end the call
 *   add      the writes of all due groups enter the outbox in one transaction. Only this sender may send them
 *   run      they are sent, at most ten minutes after the reading
 *   cancel   writes that could not be sent by then are canceled
 *
 * A group with entries is never added again. The report shows it by the states of its entries:
 *
 *   any entry           the group
 *   unknown, sending,   unknown
 *   or still pending
 *   rejected            rejected
 *   canceled            canceled
 *   all applied         applied
 *
 * If the service does not sort lots, one reading of the whole warehouse serves all later items, until it is too old.
 */

/** The result of `plan.apply` for a stock count. Each group that is not applied has a reason. */
export interface CountPlanReport {
  /** Number of groups that were corrected. */
  applied: number;
  /** Groups whose stock somebody has moved since the plan. Nothing was written. */
  stale: ReportedGroup[];
  /** Groups with a write that the service refused. */
  rejected: ReportedGroup[];
  /** Groups with a write that may or may not have been applied. A person must decide, see `outbox.resolve`. */
  unknown: ReportedGroup[];
  /** Groups with a write that could not be sent in time, and never will be. */
  canceled: ReportedGroup[];
  /** Requests sent, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
}

/** The share of `MAX_AGE_MS` after which the warehouse is read again. The writes need the rest. */
const READ_AGAIN_SHARE = 0.6;

type CountApplyOptions = PlanApplyOptions & { outbox: Outbox };

interface LotReading {
  lots: readonly BookLot[];
  /** When the reading began, by the monotonic clock. */
  readAt: number;
}

export class CountApplication {
  readonly #content: CountPlanContent;
  readonly #options: CountApplyOptions;
  readonly #writes: ReadonlyMap<CountChange, readonly OutboxEntryInput[]>;
  readonly #reader: BulkRequests;
  readonly #failures = new FailuresInARow();
  readonly #slowItems = new SlowItems();
  /** Whether the whole warehouse is read, because the service does not sort lots. One reading then serves all items. */
  #readsWarehouse = false;
  /** The last reading of the whole warehouse: its lots by comparable SKU. */
  #warehouse: { lots: ReadonlyMap<string, readonly BookLot[]>; readAt: number } | undefined;
  readonly #report: Omit<CountPlanReport, "durationMs"> = {
    applied: 0,
    stale: [],
    rejected: [],
    unknown: [],
    canceled: [],
    requests: 0,
  };
  #done = 0;

  constructor(content: CountPlanContent, options: CountApplyOptions) {
    this.#content = content;
    this.#options = options;
    this.#reader = new BulkRequests({ ...options, counter: this.#report });
    const { id, changes } = content;
    this.#writes = new Map(changes.map((change, index) => [change, writesOf(change, `plan-count/${id}/${index + 1}`)]));
  }

  async apply(): Promise<CountPlanReport> {
    const startedAt = monotonicNowMs();
    const { outbox, signal } = this.#options;
    const waiting = [...groupBy(this.#content.changes, ({ itemID }) => comparableSku(itemID)).values()];
    for (let interruptions = 0; waiting.length > 0; ) {
      const left = waiting.length;
      await outbox.whileSender("plan.apply", signal ?? undefined, (access) => this.#applyItems(waiting, access));
      interruptions = waiting.length < left ? 0 : interruptions + 1;
      if (interruptions < MAX_TAKEOVERS) continue;
      throw new ConnectionError(
        `plan.apply: other processes took over the outbox ${MAX_TAKEOVERS} times before anything was added for item ${waiting[0]?.[0]?.itemID}. Apply the plan again when no other process sends.`,
      );
    }
    return { ...this.#report, durationMs: monotonicNowMs() - startedAt };
  }

  /** Applies the first item, or all items if one reading serves them. After a lost lock, `waiting` has the rest. */
  async #applyItems(waiting: CountChange[][], access: SenderAccess): Promise<void> {
    // Other processes may have sent something since the last reading.
    this.#warehouse = undefined;
    do {
      const [groups = []] = waiting;
      const stale = await this.#applyItem(groups, access);
      if (!stale) return;
      waiting.shift();
      await this.#addToReport(groups, stale);
    } while (waiting.length > 0 && this.#readsWarehouse && !access.signal.aborted);
  }

  /** Returns why groups are stale; `undefined` if the lock was lost before anything was added. */
  async #applyItem(
    groups: readonly CountChange[],
    access: SenderAccess,
  ): Promise<ReadonlyMap<CountChange, string> | undefined> {
    const itemID = groups[0]?.itemID ?? "";
    const stale = new Map<CountChange, string>();
    const sent = await access.runItem(itemID, Infinity, this.#failures);
    this.#report.requests += sent;
    const isNew = new Set<CountChange>();
    for (const group of groups) if ((await this.#entriesOf(group)).length === 0) isNew.add(group);
    if (isNew.size === 0) return stale;
    if (access.signal.aborted) return undefined;
    const open = await this.#openEntry(itemID);
    const reading = await this.#readLotsInTime(itemID, sent > 0);
    this.#slowItems.add(itemID, reading === undefined);
    if (!reading) return new Map([...isNew].map((group) => [group, TOO_SLOW]));
    const added: OutboxEntryInput[] = [];
    const { wid, plannedAt: since } = this.#content;
    for (const group of isNew) {
      const reason = open ?? describeMovement(group.lots, lotsOfGroup(group, reading.lots), { wid, since });
      if (reason === undefined) added.push(...(this.#writes.get(group) ?? []));
      else stale.set(group, `moved since the plan (${reason}): count again`);
    }
    if (access.signal.aborted) return undefined;
    if (added.length === 0) return stale;
    try {
      await access.addBound(added);
      this.#report.requests += await access.runItem(itemID, reading.readAt + MAX_AGE_MS, this.#failures);
    } finally {
      // Later, the lots may have moved.
      await cancelUnsent(this.#options.outbox, added);
    }
    return stale;
  }

  async #addToReport(groups: readonly CountChange[], stale: ReadonlyMap<CountChange, string>): Promise<void> {
    for (const group of groups) {
      const reason = stale.get(group);
      if (reason !== undefined) this.#report.stale.push({ ...countGroupOf(group), reason });
      else {
        const { outcome, why } = groupOutcome(await this.#entriesOf(group));
        if (outcome === "applied") this.#report.applied += 1;
        else this.#report[outcome].push({ ...countGroupOf(group), reason: why });
      }
    }
    this.#done += groups.length;
    const progress = { done: this.#done, total: this.#content.changes.length };
    callSafely(() => this.#options.onProgress?.(progress));
  }

  async #entriesOf(group: CountChange): Promise<StoredEntry[]> {
    const writes = this.#writes.get(group) ?? [];
    return [...(await this.#options.outbox.read((store) => store.getMany(writes))).values()];
  }

  /** Describes an entry of the item that may still move its stock; `undefined` if there is none. */
  async #openEntry(itemID: string): Promise<string | undefined> {
    for (const state of ["pending", "sending", "unknown"] as const)
      for await (const { key } of this.#options.outbox.entries({ item: itemID, state }))
        return `the outbox has the entry "${key}", which is ${state}`;
    return undefined;
  }

  /** Reads the lots of an item. Returns `undefined` if two readings took too long. */
  async #readLotsInTime(itemID: string, isFirstOutdated: boolean): Promise<LotReading | undefined> {
    for (const isOutdated of [isFirstOutdated, true]) {
      const reading = await this.#readLots(itemID, isOutdated);
      if (monotonicNowMs() - reading.readAt <= MAX_AGE_MS) return reading;
    }
    return undefined;
  }

  /** Reads the lots of an item. `isOutdated`: the last reading of the whole warehouse must not be used. */
  async #readLots(itemID: string, isOutdated: boolean): Promise<LotReading> {
    const { client, options } = this.#reader;
    const { wid } = this.#content;
    let readAt = monotonicNowMs();
    if (!this.#readsWarehouse) {
      try {
        const lots = await client.inventory.getLots(itemID, { wid }, { ...options, ifUnsorted: "error" });
        return { readAt, lots: lots.flatMap((lot) => bookLotOf(lot) ?? []) };
      } catch (error) {
        if (isNoSuchItem(error)) return { readAt, lots: [] };
        if (!(error instanceof PaginationError)) throw error;
        this.#readsWarehouse = true;
        readAt = monotonicNowMs();
      }
    }
    const isOld = readAt - (this.#warehouse?.readAt ?? -Infinity) > MAX_AGE_MS * READ_AGAIN_SHARE;
    if (isOutdated || isOld) this.#warehouse = { readAt, lots: lotsByItem(await readBookLots(this.#reader, wid)) };
    return { readAt: this.#warehouse?.readAt ?? readAt, lots: this.#warehouse?.lots.get(comparableSku(itemID)) ?? [] };
  }
}

const countGroupOf = ({ itemID, spot, serial }: CountChange): CountGroup => ({
  itemID,
  ...(spot !== undefined && { spot }),
  ...(serial !== undefined && { serial }),
});

const writesOf = (change: CountChange, key: string): OutboxEntryInput[] =>
  change.writes.map((input) =>
    "recno" in input
      ? { key: `${key}/${input.recno}`, operation: "issue", input }
      : { key, operation: "receive", input },
  );

const WORST_FIRST = ["unknown", "sending", "pending", "rejected", "canceled"];

/** Returns what became of a group: the worst state of its entries. */
function groupOutcome(entries: readonly StoredEntry[]): {
  outcome: "applied" | "rejected" | "canceled" | "unknown";
  why: string;
} {
  const [worst] = WORST_FIRST.flatMap((state) => entries.find((entry) => entry.state === state) ?? []);
  if (!worst) return { outcome: "applied", why: "" };
  const { state, error } = worst;
  const message = String(fieldOf(parsed(error), "message") ?? "it was not sent").replace(/\.$/, "");
  const applied = entries.filter((entry) => entry.state === "applied").length;
  const part = applied > 0 ? `${applied} of ${entries.length} writes were applied. ` : "";
  const outcome = state === "rejected" || state === "canceled" ? state : "unknown";
  return { outcome, why: `${part}${message}. Count it again` };
}
