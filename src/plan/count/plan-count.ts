import * as z from "zod";
import { BulkRequests } from "../../bulk/requests.js";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient, Item, Lot, StockLevel } from "../../client/index.js";
import { comparableSku } from "../../service/key.js";
import { groupBy } from "../../shared/group-by.js";
import { valueThat } from "../../shared/option.js";
import { checkMethodOptions, integer, lazy } from "../../shared/schema.js";
import { assertSameAccount } from "../../storage/service.js";
import { newPlanHead } from "../document.js";
import { countListedItems, readItems } from "../read-items.js";
import { commonOptions, type ReadProgress } from "../reader.js";
import { readStockLevels } from "../stock-levels.js";
import { correctGroup, type DifferingGroup, misspellings } from "./correct-group.js";
import { CountPlan } from "./count-plan.js";
import { type CountedGroup, type CountedRow, readCountedRows } from "./counted.js";
import type { BlockedGroup, CountChange } from "./document.js";
import {
  type BookLot,
  type CountGroup,
  describeBins,
  describeGroup,
  describeMovement,
  isInGroup,
  isSameQuantity,
  lotsByItem,
  lotsOfGroup,
  sumOf,
} from "./group.js";
import { compareSheets, type Sheets } from "./sheets.js";
import { type CountSnapshot, countMissingRecNos, lotsModifiedSince, readBookLots, readSnapshot } from "./snapshot.js";

/** Options of {@link planCount}. */
export interface PlanCountOptions {
  /** The client that reads the lots again. */
  client: InventoryClient;
  /** The result of {@link takeSnapshot} before the count: an object (also after `JSON.parse`) or a JSON string. */
  snapshot: CountSnapshot | string;
  /** The lines that people counted. Stock without a row was not counted, and stays as it is. */
  counted: Iterable<CountedRow> | AsyncIterable<CountedRow>;
  /** Reason codes of the service for the corrections. The document of the service lists none. */
  reasonCodes: {
    /** Code of receives: more was counted than is in the books. */
    surplus: number;
    /** Code of issues: less was counted. */
    shortage: number;
  };
  /**
   * Whether to accept groups (item, bin, serial) that the snapshot does not have. By default, such a group is blocked
   * if the snapshot has uncounted groups of the item or nothing of it: most likely, a spreadsheet has changed the row.
   * @default false
   */
  newGroups?: boolean | undefined;
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

const planCountOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...commonOptions(),
    // The objects themselves are checked later: a copy would lack the iterator.
    snapshot: valueThat((snapshot) => snapshot !== undefined, "is required"),
    counted: z.unknown(),
    reasonCodes: z.strictObject({ surplus: integer(), shortage: integer() }),
    newGroups: z.boolean().optional(),
  }),
);

/*
 * A row counts a group of lots. The first line that is true decides:
 *
 *   the row and its lots                          the group
 *   two sheets contradict each other              blocked
 *   a lot of the item differs from the            blocked: "moved since the snapshot"
 *   snapshot, or was modified since
 *   the snapshot does not have the group, and     blocked: a spreadsheet may have changed item, bin or serial
 *   one of these is true: groups of the item
 *   were not counted; the snapshot has nothing
 *   of the item, and the count is not 0; the row
 *   may be another group in another notation
 *   the lots add up to the count                  unchanged
 *   otherwise, or without lots                    receive, issue or blocked, see correctGroup. Without lots and with a
 *                                                 count of 0: unchanged
 *
 * If a group is blocked, all groups of its item are blocked: their corrections would be movements during the recount.
 */

/**
 * Compares a count with the lots of the warehouse, and returns the receives and issues that make them equal. It reads
 * the lots again, and sends no write. A group (item, bin, serial) is only corrected if no lot of its item has moved
 * since the snapshot: otherwise the count cannot be compared. Other groups are in `plan.blocked` with the reason.
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
 * const plan = await planCount({
 *   client,
 *   snapshot,
 *   counted,
 *   reasonCodes: { surplus: 21, shortage: 22 },
 * });
 * console.log(plan.toText());
 * @throws InputValidationError that lists every wrong row, such as two rows that count the same stock. Also if there is
 * no row, or if an option is wrong.
 * @throws ConfigurationError if the snapshot is not valid, was changed, or belongs to another service.
 * @throws what the client throws if the lots cannot be read.
 */
export async function planCount(options: PlanCountOptions): Promise<CountPlan> {
  const { plan } = await planCountOfSheets(options, { names: ["the sheet"], isDouble: false, sheetOf: () => 0 });
  return plan;
}

/** Like `planCount`, for several sheets, one after the other in `counted`. Also returns the lots that were read. */
export async function planCountOfSheets(
  options: PlanCountOptions,
  sheets: Sheets,
): Promise<{ plan: CountPlan; lots: readonly BookLot[] }> {
  const given = checkMethodOptions("planCount", planCountOptionsSchema, options);
  const { client, counted, reasonCodes, newGroups = false, signal, onProgress } = given;
  const snapshot = readSnapshot(given.snapshot);
  assertSameAccount({ method: "planCount", noun: "snapshot" }, snapshot.service, accountOf(client));
  signal?.throwIfAborted();
  const source = { signal, known: snapshot.lots, sheetOf: sheets.sheetOf };
  const { rows: read, mistakable } = await readCountedRows(counted, source);
  const { rows, contradictions } = compareSheets(read, sheets);
  const { wid } = snapshot;
  const reader = new BulkRequests({ client, signal });
  const plannedAt = new Date();
  const bookLots = await readBookLots(reader, wid, onProgress);
  const lots = lotsByItem(bookLots);
  // Read after the lots, so that a movement in between is in at least one of the two lists.
  const modifiedLots = await lotsModifiedSince(snapshot, reader);
  const modified = lotsByItem(modifiedLots);
  const missingRecNos = await countMissingRecNos(snapshot, reader, [...bookLots, ...modifiedLots]);
  const rowsByItem = groupBy(rows, ({ itemID }) => comparableSku(itemID));
  const before = lotsByItem(snapshot.lots);
  const books = { wid, since: snapshot.takenAt, before, lots, modified, mistakable, newGroups };
  const judged = judgeRows(rowsByItem, contradictions, books);
  const { items, levels } = await readFacts(reader, snapshot, [...judged.differing, ...judged.unknownGroups]);
  const reasons = judged.reasons;
  for (const { reason, ...group } of judged.unknownGroups) {
    const exists = items.has(skuOfGroup(group));
    reasons.set(group.row, exists ? reason : "the item does not exist: has a spreadsheet changed it?");
  }
  const corrections = new Map<CountedGroup, CountChange>();
  for (const group of judged.differing) {
    const item = items.get(skuOfGroup(group));
    const correction = correctGroup(group, { item, level: item && levels.get(item.partNo) }, { wid, reasonCodes });
    if (!correction) continue;
    if ("blocked" in correction) reasons.set(group.row, correction.blocked);
    else corrections.set(group.row, correction);
  }
  blockItems(rows, corrections, reasons);
  const changes = rows.flatMap((row) => corrections.get(row) ?? []);
  const blocked = rows.flatMap((row): BlockedGroup[] => {
    const reason = reasons.get(row);
    if (reason === undefined) return [];
    const { counted: units, sheet: _, ...group } = row;
    const present = lotsOfGroup(row, lots.get(comparableSku(row.itemID)));
    return [{ ...group, book: sumOf(present).toNumber(), counted: units, lots: present, reason }];
  });
  const notCounted = countNotCounted(snapshot.lots, rowsByItem);
  const counts = { ...countGroups(rows, changes, blocked), notCounted, missingRecNos };
  const head = newPlanHead("count", client, plannedAt);
  const noticesReturns = snapshot.modifiedSince !== null;
  return { plan: new CountPlan({ ...head, wid, noticesReturns, counts, changes, blocked }, client), lots: bookLots };
}

function countGroups(rows: readonly CountedGroup[], changes: readonly CountChange[], blocked: readonly BlockedGroup[]) {
  const count = (name: string) => changes.filter(({ operation }) => operation === name).length;
  const unchanged = rows.length - changes.length - blocked.length;
  return { receive: count("receive"), issue: count("issue"), unchanged, blocked: blocked.length };
}

/** The lots that rows are compared with, by comparable SKU. */
interface Books {
  wid: number;
  /** When the snapshot was taken. */
  since: string;
  /** The lots of the snapshot. */
  before: ReadonlyMap<string, readonly BookLot[]>;
  /** The lots of the warehouse now. */
  lots: ReadonlyMap<string, readonly BookLot[]>;
  /** The lots of all warehouses that were modified since the snapshot. */
  modified: ReadonlyMap<string, readonly Lot[]>;
  mistakable: ReadonlyMap<CountedGroup, CountGroup>;
  newGroups: boolean;
}

/** The results of comparing the rows with the lots alone. */
interface JudgedRows {
  /** Why rows are blocked. */
  reasons: Map<CountedGroup, string>;
  differing: DifferingGroup[];
  /** More blocked groups. Their final reason depends on whether the item exists. */
  unknownGroups: (DifferingGroup & { reason: string })[];
}

function judgeRows(
  rowsByItem: ReadonlyMap<string, readonly CountedGroup[]>,
  contradictions: ReadonlyMap<CountedGroup, string>,
  { wid, since, before, lots, modified, mistakable, newGroups }: Books,
): JudgedRows {
  const judged: JudgedRows = { reasons: new Map(contradictions), differing: [], unknownGroups: [] };
  for (const [sku, rows] of rowsByItem) {
    const [itemLots, known] = [lots.get(sku) ?? [], before.get(sku) ?? []];
    const movement = describeMovement(known, itemLots, { wid, since, modified: modified.get(sku) ?? [] });
    const moved = movement && `moved since the snapshot (${movement}): count again`;
    for (const row of rows) {
      const present = lotsOfGroup(row, itemLots);
      const reason = contradictions.get(row) ?? moved;
      const unknown = newGroups ? undefined : unknownGroupReason(row, known, rows, mistakable.get(row));
      const group = { row, lots: present, itemLots };
      if (reason !== undefined) judged.reasons.set(row, reason);
      else if (unknown !== undefined) judged.unknownGroups.push({ ...group, reason: unknown });
      else if (present.length === 0 || !isSameQuantity(row.counted, sumOf(present))) judged.differing.push(group);
    }
  }
  return judged;
}

function blockItems(
  rows: readonly CountedGroup[],
  corrections: Map<CountedGroup, CountChange>,
  reasons: Map<CountedGroup, string>,
): void {
  const blockedBy = new Map([...reasons.keys()].map((row) => [comparableSku(row.itemID), row]));
  for (const row of rows) {
    const other = blockedBy.get(comparableSku(row.itemID));
    if (!other || reasons.has(row)) continue;
    reasons.set(row, `another group of the item is blocked (${describeBins(other)}): count the item again as a whole`);
    corrections.delete(row);
  }
}

/**
 * Returns why a group that the snapshot does not have is blocked. A spreadsheet has probably changed the row if groups
 * of the item were not counted, if the snapshot has nothing of the item, or if a group in another notation is
 * `mistakable` for the row.
 */
function unknownGroupReason(
  row: CountedGroup,
  known: readonly BookLot[],
  rows: readonly CountedGroup[],
  mistakable: CountGroup | undefined,
): string | undefined {
  // Another spelling of a known bin or serial gets its own reason later.
  if (known.some((lot) => isInGroup(row, lot)) || misspellings(row, known).length > 0) return undefined;
  const advice = "has a spreadsheet changed it? If it is really new, accept it with newGroups (--new-groups)";
  // Without lots and with a count of 0, nothing is booked.
  if (known.length === 0 && row.counted === 0) return undefined;
  if (known.length === 0) return `the snapshot has nothing of this item: ${advice}`;
  const missing = known.filter((lot) => !rows.some((counted) => isInGroup(counted, lot)));
  if (missing.length === 0)
    return mistakable && `the snapshot does not have this group, but ${describeGroup(mistakable)}: ${advice}`;
  const names = [...new Set(missing.map(({ spot, serial }) => describeBins({ spot, serial })))];
  const shown = names.slice(0, MAX_NAMED_GROUPS).join("; ");
  const more = names.length > MAX_NAMED_GROUPS ? ` and ${names.length - MAX_NAMED_GROUPS} more` : "";
  return `the snapshot does not have this group, while others of the item were not counted (${shown}${more}): ${advice}`;
}

const MAX_NAMED_GROUPS = 3;

function countNotCounted(lots: readonly BookLot[], rows: ReadonlyMap<string, readonly CountedGroup[]>): number {
  const groups = groupBy(lots, ({ shortID, spot, serial }) => JSON.stringify([comparableSku(shortID), spot, serial]));
  return [...groups.values()].filter(([lot]) => {
    const counting = lot && rows.get(comparableSku(lot.shortID));
    return lot && !counting?.some((row) => isInGroup(row, lot));
  }).length;
}

/** Returns the SKU of the item. If the item has lots, the SKU has the service's spelling. */
const skuOfGroup = ({ row, itemLots }: DifferingGroup): string => itemLots[0]?.shortID ?? row.itemID;

/** Reads the items of groups that may need a correction, and their stock levels in the warehouse. */
async function readFacts(
  reader: BulkRequests,
  { wid }: { wid: number },
  groups: readonly DifferingGroup[],
): Promise<{ items: Map<string, Item>; levels: Map<number, StockLevel> }> {
  const skus = [...new Set(groups.map(skuOfGroup))];
  const listed = skus.length === 0 ? 0 : await countListedItems(reader);
  const items = await readItems(reader, skus, listed);
  const levels = await readStockLevels(reader, [...items.values()], { wid });
  return { items, levels };
}
