import { MAX_PAGE_SIZE } from "../../service/lists.js";
import type { Lot } from "../../service/lot.js";
import { isNoSuchItem } from "../../shared/errors/api-errors.js";
import { PermissionError, ResponseValidationError } from "../../shared/errors/index.js";
import { undefinedIf } from "../../shared/unknown.js";
import { type InventoryList, type RecordNumbers, recNoOnlyLotList } from "../lists/inventory-lists.js";
import type { ItemLookup } from "../search/item-lookup.js";
import { SortedLists } from "../search/sorted-list.js";
import type { RequestOptions } from "../send/request-options.js";
import type { ClientRequester, Requester } from "../send/requester.js";
import { isCandidate, type JudgedReceipt, type Judgement, judgeReceipt } from "./judge-receipt.js";
import { type LotViews, readLotViews } from "./lot-views.js";
import { SharedReading } from "./shared-reading.js";
import { readWholeList } from "./whole-list.js";

/** A receipt that is looked up, and how its lots are judged. */
export interface LookedUpReceipt extends Omit<JudgedReceipt, "partNo"> {
  /** The warehouse that it was received into. */
  wid: number;
  /** The lots that earlier looks have shown, by number. A lot still counts if it was removed since then. */
  seen: Map<number, Lot>;
}

/**
 * - `applied`: `lots` are the receipt's own lots
 * - `absent`: no lot can be the receipt's own
 * - `ambiguous`: each of `lots` may be the receipt's own, or not all lots could be seen
 */
export interface LookUp {
  outcome: "applied" | "absent" | "ambiguous";
  lots: Lot[];
  /** Why the outcome is ambiguous; empty for other outcomes. */
  reason: string;
}

export interface Look {
  options: RequestOptions;
  /**
   * Whether the look may conclude that the receipt was not applied. Without it, the look only searches the receipt's
   * own lot.
   */
  concludes: boolean;
  /** Awaited before the views are read again after the list has changed. Returns false if the look must end. */
  pause?(): Promise<boolean>;
}

interface Steps extends Look {
  partNo: number | undefined;
  /** Judges all lots that were seen by now. Returns `undefined` if none of them can be the receipt's own. */
  judge(lots: readonly Lot[]): LookUp | undefined;
}

/**
 * Looks up what became of a receipt. Every lot on every page that is read is judged (`judge-receipt.ts`).
 *
 * A look in these steps ends at the first one that shows a lot which is, or may be, the receipt's own:
 *
 *   1. the item's part number
 *   2. two views of the lots above `lastRecNo`, shared by all look-ups that are due (`lot-views.ts`)
 *   3. the receipt's warehouse: if the client may not read it, nothing is concluded
 *   4. the lots of the item: the receipt's lot may have been merged with an older one
 *   5. the two views again, if another page has shown a lot above `lastRecNo` that they lack: the lot may be new
 *
 * The whole list decides instead, if it is not too long, in three cases: the views disagree; lots cannot be found by
 * part number; `lastRecNo` is not known.
 */
export class ReceiptLookup {
  readonly #requester: ClientRequester;
  readonly #itemLookup: ItemLookup;
  readonly #numbers: RecordNumbers;
  readonly #lots: InventoryList<Lot>;
  readonly #sorted = new SortedLists();
  readonly #views = new SharedReading<LotViews>();

  constructor(requester: ClientRequester, itemLookup: ItemLookup, numbers: RecordNumbers) {
    this.#requester = requester;
    this.#itemLookup = itemLookup;
    this.#numbers = numbers;
    this.#lots = numbers.observe(recNoOnlyLotList);
  }

  /** The highest record number that this client has seen. */
  get lastRecNo(): number | undefined {
    return this.#numbers.highest;
  }

  /** Reads the lots with the highest numbers. */
  async readLastRecNo(options: RequestOptions): Promise<void> {
    await this.#group(options, (group) =>
      this.#open(group).numbered.fetch({ page: 1, pageSize: MAX_PAGE_SIZE }, "DESC"),
    );
  }

  async look(receipt: LookedUpReceipt, look: Look): Promise<LookUp> {
    const { seen } = receipt;
    const partNo = await this.#partNoOf(receipt.itemID, look.options);
    const judge = (lots: readonly Lot[]): LookUp | undefined => {
      for (const lot of lots) seen.set(lot.recNo, lot);
      return decided(judgeReceipt(seen.values(), { ...receipt, partNo }));
    };
    try {
      return await this.#lookEverywhere(receipt, { ...look, partNo, judge });
    } catch (error) {
      if (!isOutOfScope(error)) throw error;
      // A service may allow reading one warehouse, but not all warehouses together.
      const lots = await this.#readWarehouse(receipt.wid, look.options);
      return judge(lots ?? []) ?? ambiguous("not all warehouses can be read");
    }
  }

  async #lookEverywhere(receipt: LookedUpReceipt, steps: Steps): Promise<LookUp> {
    const { lastRecNo, wid, itemID } = receipt;
    const { options, concludes, pause, partNo, judge } = steps;
    const views = lastRecNo === undefined ? undefined : await this.#readViews(lastRecNo, options);
    const early = judge(views?.lots ?? []);
    if (early) return early;
    if (partNo === undefined) return ambiguous("the item cannot be found by its SKU");
    if (views && !concludes) return ambiguous(MAY_TAKE_EFFECT);
    const warehouse = concludes ? await this.#readWarehouse(wid, options) : [];
    if (!warehouse) return ambiguous("its warehouse cannot be read");
    const ofItem = await this.#itemLookup.show(this.#lots, { partNo, shortID: itemID }, options);
    const found = judge([...warehouse, ...ofItem.shown]);
    if (found) return found;
    if (!concludes) return ambiguous(MAY_TAKE_EFFECT);
    if (lastRecNo !== undefined && views?.isComplete && ofItem.isFound) {
      if (showsAll(views.lots, receipt)) return ABSENT;
      if (pause && !(await pause())) return ambiguous("the look-up was ended");
      const again = await this.#readViews(lastRecNo, options);
      const late = judge(again.lots);
      if (late) return late;
      if (again.isComplete && showsAll(again.lots, receipt)) return ABSENT;
    }
    return this.#lookInWholeList(receipt, steps);
  }

  /**
   * Decides by the whole list. If the whole list shows fewer lots than the service counts, the list of the receipt's
   * warehouse decides: if that list is complete and lacks the lot, the receipt was not applied.
   */
  async #lookInWholeList(receipt: LookedUpReceipt, { options, judge }: Steps): Promise<LookUp> {
    const read = (params?: { wid: number }) =>
      this.#group(options, (group) => readWholeList(group, this.#lots, params));
    const whole = await read();
    if (!whole) return ambiguous("the service's list does not show all lots for sure, and is too long to be read");
    const found = judge(whole.lots);
    if (found) return found;
    if (!showsAll(whole.lots, receipt))
      return ambiguous("the service's list does not show lots that it has shown before");
    if (whole.extent === "complete") return ABSENT;
    const ofWarehouse = whole.extent === "short" ? await read({ wid: receipt.wid }) : undefined;
    const late = judge(ofWarehouse?.lots ?? []);
    if (late) return late;
    return ofWarehouse?.extent === "complete"
      ? ABSENT
      : ambiguous("the service's list does not show all lots for sure");
  }

  /** Returns `undefined` if the service has no such item, or returns another item. Throws the 404 of a proxy. */
  #partNoOf(itemID: string, options: RequestOptions): Promise<number | undefined> {
    const isUnusable = (error: unknown) => isNoSuchItem(error) || error instanceof ResponseValidationError;
    return this.#itemLookup.partNoOf(itemID, options).catch(undefinedIf(isUnusable));
  }

  #readViews(above: number, options: RequestOptions): Promise<LotViews> {
    return this.#views.read(above, options, (lowest, shared) =>
      this.#group(shared, (group) => readLotViews(this.#open(group), lowest)),
    );
  }

  /** The most recent lots of a warehouse; `undefined` if the client may not read it. */
  async #readWarehouse(wid: number, options: RequestOptions): Promise<Lot[] | undefined> {
    const page = await this.#group(options, (group) =>
      this.#open(group, wid).fetch({ page: 1, pageSize: MAX_PAGE_SIZE }),
    ).catch(undefinedIf((error) => error instanceof PermissionError));
    return page?.value;
  }

  #open(group: Requester, wid?: number) {
    const definition = this.#lots({ wid }, {});
    const { path } = definition.request({ wid }, {});
    const reading = definition.reading({ wid });
    return {
      label: `GET ${path}`,
      pageSize: MAX_PAGE_SIZE,
      numbered: this.#sorted.open(group, { reading, path, column: "recNo" }),
      fetch: (request: { page: number; pageSize: number }) =>
        group.send({ method: "GET", path, query: { ...request }, read: reading.pageReader(request) }),
    };
  }

  #group<T>(options: RequestOptions, run: (group: Requester) => Promise<T>): Promise<T> {
    return this.#requester.group(options, run);
  }
}

/** Whether the lots contain all candidates that any page has shown. */
function showsAll(lots: readonly Lot[], { seen, lastRecNo }: LookedUpReceipt): boolean {
  const shown = new Set(lots.map(({ recNo }) => recNo));
  return [...seen.values()].every((lot) => !isCandidate(lot, lastRecNo) || shown.has(lot.recNo));
}

const isOutOfScope = (error: unknown) => error instanceof PermissionError && error.reason === "warehouse-out-of-scope";

const MAY_TAKE_EFFECT = "it may still take effect";
const ABSENT: LookUp = { outcome: "absent", lots: [], reason: "" };

const ambiguous = (reason: string): LookUp => ({ outcome: "ambiguous", lots: [], reason });

/** Returns what the lots decide; `undefined` if they decide nothing. */
function decided({ outcome, lots }: Judgement): LookUp | undefined {
  if (outcome === "none") return undefined;
  const recNos = lots.map(({ recNo }) => recNo).slice(0, 10);
  return { outcome, lots, reason: outcome === "applied" ? "" : `lots ${recNos.join(", ")} may be its own` };
}
