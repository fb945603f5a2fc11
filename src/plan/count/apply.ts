import { Big } from "big.js";
import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import type { Outbox } from "../../outbox/outbox.js";
import { isSettled, type OutboxState } from "../../outbox/store.js";
import { comparableSku } from "../../service/key.js";
import { InputValidationError, NotFoundError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { PlanApplyOptions, PlanReport } from "../apply/options.js";
import {
  type ChangeAsRead,
  type ChangeState,
  KEY_PREFIXES,
  PlanApplication,
  type PlannedChanges,
  type ReadBack,
} from "../apply/plan-application.js";
import type { Progress } from "../apply/progress.js";
import { groupBy } from "../group-by.js";
import { PlanReader } from "../plan-reader.js";
import { REQUESTS_PER_SEARCH } from "../stock-levels.js";
import type { CountChange, CountPlanContent, ReportedGroup, StoredQuantity } from "./document.js";
import {
  type BookLot,
  bookLotOf,
  type CountGroup,
  describeMovement,
  isSameQuantity,
  lotsOfGroup,
  sumOf,
} from "./group.js";

/** Applies the plan of a stock count through an outbox. */
export async function applyCountPlan(
  content: CountPlanContent,
  options: PlanApplyOptions,
): Promise<PlanReport<ReportedGroup, StoredQuantity>> {
  const { client, outbox, signal } = options;
  if (!outbox) {
    const message = "is required for a stock count: without it, a lost response could not be told from a lost request";
    throw new InputValidationError("plan.apply", [{ path: ["outbox"], message }]);
  }
  const reader = new PlanReader(client, signal);
  return await new PlanApplication(new PlannedGroups(content, outbox, reader), outbox, options).apply();
}

/** The lots of an item in the warehouse. */
interface PresentLots {
  lots: BookLot[];
  /** Why others are about to change them, or have changed them meanwhile, by the outbox; `undefined` if they have not. */
  rereadOthers(): Promise<string | undefined>;
}

/**
 * A group becomes due only if its lots are those of the plan, except for what its own entries have applied, and if the outbox
 * has no other transaction of its item in this warehouse: that would move the stock after it was read. While it is due,
 * its further writes are sent without reading the lots again.
 */
class PlannedGroups implements PlannedChanges<CountChange, CountGroup, StoredQuantity> {
  readonly reader: PlanReader;
  readonly keyPrefix: string;
  readonly changes: readonly CountChange[];
  readonly maxChunkSize = 10;
  readonly requestsPerChange = REQUESTS_PER_SEARCH + 1;
  readonly #wid: number;
  readonly #outbox: Outbox;
  readonly #numbers: ReadonlyMap<CountChange, number>;

  constructor({ id, changes, wid }: CountPlanContent, outbox: Outbox, reader: PlanReader) {
    this.keyPrefix = `${KEY_PREFIXES.count}${id}/`;
    this.changes = changes;
    this.#wid = wid;
    this.#outbox = outbox;
    this.reader = reader;
    this.#numbers = new Map(changes.map((change, index): [CountChange, number] => [change, index + 1]));
  }

  nameOf({ itemID, spot, serial }: CountChange): CountGroup {
    return { itemID, ...(spot === undefined ? {} : { spot }), ...(serial === undefined ? {} : { serial }) };
  }

  writesOf(change: CountChange): NewOutboxEntry[] {
    const key = `${this.keyPrefix}${this.#numbers.get(change)}`;
    return change.writes.map((input) =>
      "recno" in input
        ? { key: `${key}/${input.recno}`, operation: "issue", input }
        : { key, operation: "receive", input },
    );
  }

  // No `isAsDesired`: only the lots at the time of the count could show that, and they have changed since.

  replaces(entry: OutboxEntry): boolean {
    return entry.key.startsWith(KEY_PREFIXES.count) && this.#isOther(entry);
  }

  async readStates(changes: readonly Progress<CountChange>[]): Promise<ChangeAsRead<CountChange>[]> {
    const read: ChangeAsRead<CountChange>[] = [];
    const presentBySku = new Map<string, PresentLots>();
    for (const progress of changes) {
      const { itemID } = progress.change;
      const sku = comparableSku(itemID);
      const present = presentBySku.get(sku) ?? (await this.#readPresent(itemID));
      presentBySku.set(sku, present);
      read.push({ progress, state: await this.#stateOf(progress, present) });
    }
    return read;
  }

  /**
   * Two plans may be applied at the same time: each has read the lots before the other's writes. The one whose first
   * write of an item enters the outbox later finds the other's in its check, so that its own can be canceled, unless it
   * was sent already.
   */
  async #stateOf(group: Progress<CountChange>, { lots, rereadOthers }: PresentLots): Promise<ChangeState> {
    const present = lotsOfGroup(group.change, lots);
    const reason = movedReason((await rereadOthers()) ?? describeMovement(remainingLots(group), present));
    if (reason !== undefined) return { kind: "stale", reason };
    return { kind: "due", check: async () => movedReason(await rereadOthers()) };
  }

  async #readPresent(itemID: string): Promise<PresentLots> {
    const before = await this.#otherEntries(itemID);
    return {
      lots: await this.#readLots(itemID),
      rereadOthers: async () => describeOther(await this.#otherEntries(itemID), before),
    };
  }

  /**
   * Finds groups whose stock is not what was counted, although it was written: the service has stored something else, or
   * somebody has booked since. `written` contains what an earlier run has written, too: it may have ended before it read
   * the lots again.
   */
  async readBack(written: ReadonlyMap<CountChange, number>): Promise<ReadBack<CountChange, StoredQuantity>> {
    const storedDifferently: StoredQuantity[] = [];
    const unread = new Set(written.keys());
    const failure = await this.reader.failureOf(async () => {
      for (const changes of groupBy(written.keys(), ({ itemID }) => comparableSku(itemID)).values()) {
        const lots = await this.#readLots(changes[0]?.itemID ?? "");
        for (const change of changes) {
          unread.delete(change);
          const stored = sumOf(lotsOfGroup(change, lots)).toNumber();
          if (isSameQuantity(stored, change.counted)) continue;
          // `storedDifferently` names items as records do, and changes as their writes do.
          const { itemID: shortID, ...group } = this.nameOf(change);
          storedDifferently.push({ shortID, ...group, field: "units", sent: change.counted, stored });
        }
      }
    });
    const reason = `it was applied, but could not be read again (${failure?.message.replace(/\.$/, "")}). Apply the plan again`;
    return { unknown: new Map([...unread].map((change) => [change, reason])), storedDifferently };
  }

  async #readLots(itemID: string): Promise<BookLot[]> {
    const { client, options } = this.reader;
    try {
      const lots = await client.inventory.getLots(itemID, { wid: this.#wid }, options);
      return lots.flatMap((lot) => bookLotOf(lot) ?? []);
    } catch (error) {
      if (error instanceof NotFoundError) return [];
      throw error;
    }
  }

  /** The transactions of others that the outbox has of an item in this warehouse. */
  async #otherEntries(itemID: string): Promise<Map<string, OutboxState>> {
    const states = new Map<string, OutboxState>();
    for await (const entry of this.#outbox.entries({ item: itemID })) {
      if (this.#isOther(entry)) states.set(entry.key, entry.state);
    }
    return states;
  }

  /** Whether an entry moves stock here, but does not belong to this plan. */
  #isOther({ key, input }: OutboxEntry): boolean {
    const isHere = fieldOf(input, "wid") === this.#wid || fieldOf(input, "shipToWid") === this.#wid;
    return isHere && !key.startsWith(this.keyPrefix);
  }
}

/** The lots of a group after those of its writes that were applied; of a pruned entry, only the key is left. */
function remainingLots({ change, writes, entries }: Progress<CountChange>): BookLot[] {
  const applied = new Set(entries.flatMap(({ key, state }) => (state === "applied" ? [key] : [])));
  const issued = new Map<number, number>();
  for (const { key, input } of writes) {
    if (applied.has(key) && "recno" in input && input.recno !== undefined) issued.set(input.recno, input.units);
  }
  return change.lots.flatMap((lot) => {
    const units = new Big(lot.units).minus(issued.get(lot.recNo) ?? 0).toNumber();
    return isSameQuantity(units, 0) ? [] : [{ ...lot, units }];
  });
}

const movedReason = (movement: string | undefined): string | undefined =>
  movement && `moved since the plan (${movement}): count again`;

/** The first entry that is not settled, or was settled as applied since `before`. */
function describeOther(
  present: ReadonlyMap<string, OutboxState>,
  before: ReadonlyMap<string, OutboxState>,
): string | undefined {
  for (const [key, state] of present) {
    if (!isSettled(state) || (state === "applied" && before.get(key) !== state)) {
      return `the outbox has the entry "${key}", which is ${state}`;
    }
  }
  return undefined;
}
