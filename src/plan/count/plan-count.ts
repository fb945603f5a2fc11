import * as z from "zod";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient, Item, Lot, StockLevel } from "../../client/index.js";
import { comparableSku } from "../../service/key.js";
import { checkMethodOptions } from "../../shared/check.js";
import { integer, lazy } from "../../shared/field.js";
import { valueThat } from "../../shared/option.js";
import { assertSameAccount } from "../../storage/service.js";
import { newPlanHead } from "../document.js";
import { groupBy } from "../group-by.js";
import { countListedItems, readItems } from "../read-items.js";
import { PlanReader, type ReadProgress, readingOptions } from "../reader.js";
import { readStockLevels } from "../stock-levels.js";
import { correctGroup, type DifferingGroup } from "./correct-group.js";
import { CountPlan } from "./count-plan.js";
import { type CountedGroup, type CountedRow, readCountedRows } from "./counted.js";
import type { BlockedGroup, CountChange } from "./document.js";
import { type BookLot, describeMovement, isInGroup, isSameQuantity, lotsByItem, lotsOfGroup, sumOf } from "./group.js";
import { type CountSnapshot, lotsModifiedSince, readBookLots, readSnapshot } from "./snapshot.js";

/** Options of {@link planCount}. */
export interface PlanCountOptions {
  /** The client that reads the lots again. */
  client: InventoryClient;
  /** What {@link takeSnapshot} returned before the count, also after `JSON.parse`, or as a JSON string. */
  snapshot: CountSnapshot | string;
  /** What people counted. What has no row was not counted, and stays as it is. */
  counted: Iterable<CountedRow> | AsyncIterable<CountedRow>;
  /** Reason codes of the service for the corrections. Its document does not list any. */
  reasonCodes: {
    /** Code of receives: more was counted than is in the books. */
    surplus: number;
    /** Code of issues: less was counted. */
    shortage: number;
  };
  /**
   * Whether a bin is accepted that the snapshot does not have, while bins of that item that it has were not counted.
   * @default false
   */
  newBins?: boolean | undefined;
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
    snapshot: valueThat((snapshot) => snapshot !== undefined, "is required"),
    counted: z.unknown(),
    reasonCodes: z.strictObject({ surplus: integer(), shortage: integer() }),
    newBins: z.boolean().optional(),
  }),
);

/*
 * A row counts a group of lots. What becomes of it:
 *
 *   its lots now                                  the group
 *   any lot of the item is not as in the          blocked: "moved since the snapshot"
 *   snapshot, or was modified since
 *   its bin is not in the snapshot, while others  blocked: a spreadsheet may have changed the bin
 *   of the item were not counted
 *   add up to the count                           unchanged
 *   do not, or there are none                     correctGroup decides, with the item and its stock level: receive, issue or
 *                                                 blocked; unchanged if there are no lots and 0 was counted
 */

/**
 * Compares a count with the lots of the warehouse, and returns the receives and issues that make them equal. It reads the
 * lots again, and sends no write. A group (item, bin, serial) is only corrected if no lot of its item has moved since
 * the snapshot, so that the count can be compared with them. Everything else is in `plan.blocked` with the reason.
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
export async function planCount(options: PlanCountOptions): Promise<CountPlan> {
  const given = checkMethodOptions("planCount", optionsSchema, options);
  const { client, counted, reasonCodes, newBins = false, signal, onProgress } = given;
  const snapshot = readSnapshot(given.snapshot);
  assertSameAccount({ method: "planCount", noun: "snapshot" }, snapshot.service, accountOf(client));
  signal?.throwIfAborted();
  const rows = await readCountedRows(counted, signal);
  const { wid } = snapshot;
  const reader = new PlanReader(client, signal);
  const plannedAt = new Date();
  const lots = lotsByItem(await readBookLots(reader, wid, onProgress));
  // After the lots, so that a movement in between is in one of the two lists at least.
  const modified = lotsByItem(await lotsModifiedSince(snapshot, reader));
  const before = lotsByItem(snapshot.lots);
  const rowsByItem = groupBy(rows, ({ itemID }) => comparableSku(itemID));
  const blocked: BlockedGroup[] = [];
  const differing: DifferingGroup[] = [];
  for (const row of rows) {
    const sku = comparableSku(row.itemID);
    const itemLots = lots.get(sku) ?? [];
    const known = before.get(sku) ?? [];
    const present = lotsOfGroup(row, itemLots);
    const reason =
      movedReason(known, itemLots, modified.get(sku)) ??
      (newBins ? undefined : otherBinReason(row, known, rowsByItem.get(sku)));
    if (reason !== undefined) blocked.push(blockedGroup(row, present, reason));
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
    notCounted: countNotCounted(snapshot.lots, rowsByItem),
  };
  const head = newPlanHead("count", client, plannedAt);
  const noticesReturns = snapshot.modifiedSince !== null;
  return new CountPlan({ ...head, wid, noticesReturns, counts, changes, blocked }, client);
}

/** Why the count of an item cannot be compared with its lots; `undefined` if nothing has moved. */
function movedReason(
  before: readonly BookLot[],
  present: readonly BookLot[],
  modified: readonly Lot[] = [],
): string | undefined {
  const [lot] = modified;
  const movement = describeMovement(before, present) ?? (lot && `lot ${lot.recNo} was modified`);
  return movement === undefined ? undefined : `moved since the snapshot (${movement}): count again`;
}

/** A bin that nobody knows, while a known one was not counted, is most likely a known one that a spreadsheet has changed. */
function otherBinReason(
  { spot }: CountedGroup,
  known: readonly BookLot[],
  rows: readonly CountedGroup[] = [],
): string | undefined {
  const bins = [...new Set(known.map((lot) => lot.spot))];
  const isKnown = (bin: string) => bin.trim().toLowerCase() === spot?.trim().toLowerCase();
  if (spot === undefined || bins.some(isKnown)) return undefined;
  const missing = bins.filter((bin) => !rows.some((row) => row.spot === undefined || row.spot === bin));
  if (missing.length === 0) return undefined;
  const names = missing.map((bin) => `"${bin}"`).join(", ");
  return `the snapshot does not have bin "${spot}", while ${names} of this item was not counted: has a spreadsheet changed it?`;
}

/** How many lines of a sheet no row counts. */
function countNotCounted(lots: readonly BookLot[], rows: ReadonlyMap<string, readonly CountedGroup[]>): number {
  const groups = groupBy(lots, ({ shortID, spot, serial }) => JSON.stringify([comparableSku(shortID), spot, serial]));
  return [...groups.values()].filter(([lot]) => {
    const counting = lot && rows.get(comparableSku(lot.shortID));
    return lot && !counting?.some((row) => isInGroup(row, lot));
  }).length;
}

/** SKU of the item, as the service spells it if it has lots. */
const skuOf = ({ row, itemLots }: DifferingGroup): string => itemLots[0]?.shortID ?? row.itemID;

/** The items of groups that may need a correction, and their stock levels in the warehouse. */
async function readFacts(
  reader: PlanReader,
  { wid }: { wid: number },
  groups: readonly DifferingGroup[],
): Promise<{ items: Map<string, Item>; levels: Map<number, StockLevel> }> {
  const skus = [...new Set(groups.map(skuOf))];
  const listed = skus.length === 0 ? 0 : await countListedItems(reader);
  const items = await readItems(reader, skus, listed);
  const levels = await readStockLevels(reader, [...items.values()], { wid });
  return { items, levels };
}

const blockedGroup = ({ counted, ...group }: CountedGroup, lots: readonly BookLot[], reason: string): BlockedGroup => ({
  ...group,
  book: sumOf(lots).toNumber(),
  counted,
  lots,
  reason,
});
