import { Big } from "big.js";
import type { Item } from "../../service/item.js";
import type { StockLevel } from "../../service/stock-level.js";
import type { IssueInput, ReceiveInput } from "../../service/transaction.js";
import type { CountedGroup } from "./counted.js";
import type { CountChange } from "./document.js";
import { type BookLot, type CountGroup, differenceOf, isSameQuantity, sumOf } from "./group.js";

/** A counted group whose quantity differs from the quantity of its lots, or whose item may not exist. */
export interface DifferingGroup {
  row: CountedGroup;
  /** The lots of the group, the oldest first. */
  lots: readonly BookLot[];
  /** All lots of the item in the warehouse. */
  itemLots: readonly BookLot[];
}

/** The warehouse and the reason codes of the corrections. */
interface CorrectionSettings {
  wid: number;
  reasonCodes: { surplus: number; shortage: number };
}

/**
 * Returns the correction of a group, or the reason why the group is blocked; `undefined` if no correction is needed.
 * `level`: the stock level of the item in the warehouse, if the service lists one.
 */
export function correctGroup(
  group: DifferingGroup,
  { item, level }: { item: Item | undefined; level: StockLevel | undefined },
  settings: CorrectionSettings,
): CountChange | { blocked: string } | undefined {
  const { row, lots, itemLots } = group;
  if (!item) return { blocked: "the item does not exist" };
  if (itemLots.length === 0 && item.shortID !== row.itemID)
    return { blocked: `the service spells the item "${item.shortID}"` };
  const { counted, sheet: _, ...named } = row;
  const book = sumOf(lots);
  const difference = differenceOf(counted, book);
  const misspelt = lots.length === 0 ? misspellings(row, itemLots) : [];
  if (misspelt.length > 0) return { blocked: misspelt.join("; ") };
  if (difference.eq(0)) return undefined;
  const isSurplus = difference.gt(0);
  const problems = [
    ...commonProblems(group, item, level),
    ...(isSurplus ? surplusProblems(group) : shortageProblems(level)),
  ];
  if (problems.length > 0) return { blocked: problems.join("; ") };
  const itemID = item.shortID;
  return {
    ...named,
    itemID,
    operation: isSurplus ? "receive" : "issue",
    book: book.toNumber(),
    counted,
    units: difference.abs().toNumber(),
    uOM: item.uOM ?? "",
    lots,
    writes: isSurplus
      ? [receiptOf(group, itemID, difference, settings)]
      : issuesOf(lots, itemID, difference.abs(), settings),
  };
}

function commonProblems({ lots, itemLots }: DifferingGroup, item: Item, level: StockLevel | undefined): string[] {
  const problems = lots.flatMap(({ recNo, hold, units, associate }) => [
    ...(hold ? [`lot ${recNo} is on hold`] : []),
    ...(units < 0 ? [`lot ${recNo} has ${units} units`] : []),
    ...((associate ?? "").trim() === "" ? [] : [`lot ${recNo} belongs to ${associate}`]),
  ]);
  if (item.discontinued) problems.push("the item is discontinued");
  const [sum, inStock] = [sumOf(itemLots), level?.inStock ?? 0];
  if (!isSameQuantity(sum, inStock)) {
    problems.push(`the lots of the item add up to ${sum.toNumber()} here, but its stock level is ${inStock}`);
  }
  return problems;
}

/** Describes a bin or serial that the lots spell otherwise: the row's spelling would create a second bin. */
export function misspellings({ spot, serial }: CountGroup, lots: readonly BookLot[]): string[] {
  return [
    ...otherSpelling("bin", spot, new Set(lots.map((lot) => lot.spot))),
    ...otherSpelling("serial", serial, new Set(lots.map((lot) => lot.serial))),
  ];
}

function otherSpelling(name: string, value: string | undefined, present: ReadonlySet<string>): string[] {
  if (value === undefined || present.has(value)) return [];
  const similar = [...present].find((one) => one.trim().toLowerCase() === value.trim().toLowerCase());
  return similar === undefined ? [] : [`the service spells the ${name} "${similar}"`];
}

function surplusProblems(group: DifferingGroup): string[] {
  const { row, lots, itemLots } = group;
  const problems: string[] = [];
  const bins = binsOf(group);
  if (bins.length > 1) problems.push(`the item is in several bins (${bins.join(", ")}): count each bin`);
  const serial = itemLots.find((lot) => lot.serial !== "")?.serial;
  if (row.serial === undefined && serial !== undefined) {
    problems.push(`the item has serials, such as ${serial}: count each serial`);
  }
  for (const { recNo, serial2, rFIDTag, jobID } of lots) {
    if (serial2) problems.push(`lot ${recNo} has the second serial ${serial2}`);
    if (rFIDTag) problems.push(`lot ${recNo} has the tag ${rFIDTag}`);
    if (jobID) problems.push(`lot ${recNo} belongs to job ${jobID}`);
  }
  return problems;
}

const shortageProblems = (level: StockLevel | undefined): string[] =>
  level && level.packed !== 0 ? [`${level.packed} are packed for shipment`] : [];

/** Returns the bins that a surplus may belong to: the bin of the row, or the bins of the item. */
const binsOf = ({ row, itemLots }: DifferingGroup): string[] =>
  row.spot === undefined ? [...new Set(itemLots.map((lot) => lot.spot))] : [row.spot];

function receiptOf(
  group: DifferingGroup,
  itemID: string,
  units: Big,
  { wid, reasonCodes }: CorrectionSettings,
): ReceiveInput {
  const [spot] = binsOf(group);
  const { serial } = group.row;
  return {
    itemID,
    units: units.toNumber(),
    wid,
    reasonCode: reasonCodes.surplus,
    ...(spot ? { spot } : {}),
    ...(serial ? { serial } : {}),
  };
}

/** Returns the issues of single lots, the oldest lot first. */
function issuesOf(
  lots: readonly BookLot[],
  itemID: string,
  units: Big,
  { wid, reasonCodes }: CorrectionSettings,
): IssueInput[] {
  let left = units;
  return lots.flatMap((lot) => {
    const taken = left.lt(lot.units) ? left : new Big(lot.units);
    left = left.minus(taken);
    if (isSameQuantity(taken, 0)) return [];
    return [{ itemID, units: taken.toNumber(), wid, reasonCode: reasonCodes.shortage, recno: lot.recNo }];
  });
}
