import * as z from "zod";
import type { InventoryClient } from "../../client/index.js";
import type { Item } from "../../service/item.js";
import { comparableSku } from "../../service/key.js";
import type { Lot } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import { checkMethodOptions } from "../../shared/check.js";
import { integer, lazy } from "../../shared/field.js";
import { requiredOption } from "../../shared/option.js";
import { assertDocumentOf, newPlanHead } from "../document.js";
import { countPlan, type Plan } from "../plan.js";
import { PlanReader, type ReadProgress, readingOptions } from "../plan-reader.js";
import { countListedItems, readItems } from "../read-items.js";
import { readStockLevels } from "../stock-levels.js";
import { correctGroup, type DifferingGroup } from "./correct-group.js";
import { type CountedGroup, type CountedRow, readCountedRows } from "./counted-rows.js";
import type { BlockedGroup, CountChange } from "./document.js";
import {
  type BookLot,
  bookLotOf,
  type CountGroup,
  describeMovement,
  isInGroup,
  isSameQuantity,
  lotsByItem,
  lotsOfGroup,
  sumOf,
} from "./group.js";
import { type CountSnapshot, lotsModifiedAfter, readBookLots, readSnapshot } from "./snapshot.js";

/** Reason codes of the service for the corrections of a stock count. The document does not list any. */
export interface CountReasonCodes {
  /** Code of receives: more was counted than is in the books. */
  surplus: number;
  /** Code of issues: less was counted. */
  shortage: number;
}

/** Options of {@link planCount}. */
export interface PlanCountOptions {
  /** The client that reads the lots again. */
  client: InventoryClient;
  /** What {@link takeSnapshot} returned before the count, also after `JSON.parse`, or as a JSON string. */
  snapshot: CountSnapshot | string;
  /** What people counted. What has no row was not counted, and stays as it is. */
  counted: Iterable<CountedRow> | AsyncIterable<CountedRow>;
  /** Reason codes of the corrections. */
  reasonCodes: CountReasonCodes;
  /**
   * Ends the planning, which rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each page of lots. An error is logged and has no other effect.
   * @default none
   */
  onProgress?: ((progress: ReadProgress) => void) | undefined;
}

const optionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...readingOptions(),
    // The objects themselves are checked later: of a copy, an iterator would be missing.
    snapshot: requiredOption(z.unknown()),
    counted: z.unknown(),
    reasonCodes: requiredOption(
      z.strictObject({ surplus: requiredOption(integer()), shortage: requiredOption(integer()) }),
    ),
  }),
);

/*
 * A row counts a group of lots. What becomes of it:
 *
 *   its lots now                                  the group
 *   not those of the snapshot, or modified since  blocked: "moved since the snapshot"
 *   add up to the count                           unchanged
 *   do not, or there are none                     correctGroup decides, with the item and its stock level: receive, issue or
 *                                                 blocked; unchanged if there are no lots and 0 was counted
 */

/**
 * Compares a count with the lots of the warehouse, and returns the receives and issues that make them equal. It reads the
 * lots again, and sends no write. A group (item, bin, serial) is only corrected if its lots are those of the snapshot, so
 * that the count can be compared with them. Everything else is in `plan.blocked` with the reason.
 *
 * Source: `GET /Inventory/{wid}`, `GET /Inventory/StockLevels/{wid}`, `GET /Item`.
 *
 * @experimental
 * @example
 * import { planCount, takeSnapshot } from "stocklot/plan";
 *
 * const snapshot = await takeSnapshot({ client, wid: 3 });
 * // People count.
 * const counted = [{ itemID: "BOLT-M8", spot: "A-01", counted: 480 }];
 * const plan = await planCount({ client, snapshot, counted, reasonCodes: { surplus: 21, shortage: 22 } });
 * console.log(plan.toText());
 * @throws InputValidationError that lists every wrong row, such as two rows that count the same stock. Also if there is no
 * row, or if an option is wrong.
 * @throws ConfigurationError if the snapshot is none, was changed, or belongs to another service.
 * @throws what the client throws if the lots cannot be read.
 */
export async function planCount(options: PlanCountOptions): Promise<Plan<"count">> {
  checkMethodOptions("planCount", optionsSchema, options);
  const { client, counted, reasonCodes, signal, onProgress } = options;
  const snapshot = readSnapshot(options.snapshot);
  assertDocumentOf({ method: "planCount", noun: "snapshot" }, snapshot, client);
  signal?.throwIfAborted();
  const rows = await readCountedRows(counted, signal);
  const { wid } = snapshot;
  const reader = new PlanReader(client, signal);
  const plannedAt = new Date();
  const lots = lotsByItem(await readBookLots(reader, wid, onProgress));
  // After the lots, so that a movement in between is in one of the two lists at least.
  const hidden = new HiddenMovements(await lotsModifiedAfter(snapshot, reader), snapshot.lots);
  const before = lotsByItem(snapshot.lots);
  const blocked: BlockedGroup[] = [];
  const differing: DifferingGroup[] = [];
  for (const row of rows) {
    const itemLots = lots.get(comparableSku(row.itemID)) ?? [];
    const present = lotsOfGroup(row, itemLots);
    const known = lotsOfGroup(row, before.get(comparableSku(row.itemID)));
    const movement = describeMovement(known, present) ?? hidden.describe(row);
    if (movement !== undefined)
      blocked.push(blockedGroup(row, present, `moved since the snapshot (${movement}): count again`));
    else if (present.length === 0 || !isSameQuantity(row.counted, sumOf(present)))
      differing.push({ row, lots: present, itemLots });
  }
  const { items, levels } = await readFacts(reader, snapshot, differing);
  const changes: CountChange[] = [];
  for (const group of differing) {
    const item = items.get(skuOf(group));
    const correction = correctGroup(group, { item, level: item && levels.get(item.partNo) }, { wid, reasonCodes });
    if (!correction) continue;
    if ("blocked" in correction) blocked.push(blockedGroup(group.row, group.lots, correction.blocked));
    else changes.push(correction);
  }
  const count = (name: string) => changes.filter(({ operation }) => operation === name).length;
  const counts = {
    receive: count("receive"),
    issue: count("issue"),
    unchanged: rows.length - changes.length - blocked.length,
    blocked: blocked.length,
  };
  const head = newPlanHead("count", client.service, plannedAt);
  const noticesReturns = snapshot.modified !== null;
  return countPlan({ ...head, wid, noticesReturns, counts, changes, blocked }, client);
}

/** SKU of the item, as the service spells it if it has lots. */
const skuOf = ({ row, itemLots }: DifferingGroup): string => itemLots[0]?.shortID ?? row.itemID;

/** The items of groups that may need a correction, and their stock levels in the warehouse. */
async function readFacts(
  reader: PlanReader,
  { wid }: { wid: number },
  groups: readonly DifferingGroup[],
): Promise<{ items: Map<string, Item>; levels: Map<number, StockLevel> }> {
  const skus = new Set(groups.map(skuOf));
  if (skus.size === 0) return { items: new Map(), levels: new Map() };
  const listed = await countListedItems(reader);
  const items = await readItems(reader, [...skus], listed);
  const levels = await readStockLevels(reader, [...items.values()], { listed, scope: { wid } });
  return { items, levels };
}

const blockedGroup = ({ counted, ...group }: CountedGroup, lots: readonly BookLot[], reason: string): BlockedGroup => ({
  ...group,
  book: sumOf(lots).toNumber(),
  counted,
  lots,
  reason,
});

/**
 * Movements that the stock of a group does not show any more. A lot that was modified since the snapshot concerns:
 * - the bin that it is in, also if it is not in stock any more: it may have been there while people counted;
 * - every bin, if it looks as before: it may have been anywhere, and is back.
 */
class HiddenMovements {
  readonly #modified: ReadonlyMap<string, readonly Lot[]>;
  readonly #returned = new Map<string, Lot>();

  constructor(modified: readonly Lot[], before: readonly BookLot[]) {
    const known = new Map(before.map((lot): [number, BookLot] => [lot.recNo, lot]));
    this.#modified = lotsByItem(modified);
    for (const lot of modified) {
      const [earlier, present] = [known.get(lot.recNo), bookLotOf(lot)];
      if (earlier && present && describeMovement([earlier], [present]) === undefined)
        this.#returned.set(comparableSku(lot.shortID), lot);
    }
  }

  /** Why a group cannot be compared with its count; `undefined` if nothing is known. */
  describe(group: CountGroup): string | undefined {
    const sku = comparableSku(group.itemID);
    const returned = this.#returned.get(sku);
    if (returned) return `lot ${returned.recNo} of the item was modified, and may have been in another bin`;
    const visitor = this.#modified.get(sku)?.find((lot) => isInGroup(group, lot));
    return visitor && `lot ${visitor.recNo} was modified`;
  }
}
