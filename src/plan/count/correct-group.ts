import { Big } from "big.js";
import type { Item } from "../../service/item.js";
import type { StockLevel } from "../../service/stock-level.js";
import type { IssueInput, ReceiveInput } from "../../service/transaction.js";
import type { CountedGroup } from "./counted-rows.js";
import type { CountChange } from "./document.js";
import type { BookLot } from "./group.js";
import { differenceOf, isSameQuantity, sumOf } from "./quantity.js";

/** What the correction of a group depends on, besides its lots. */
export interface GroupFacts {
  item: Item | undefined;
  /** Of the item in the warehouse; `undefined` if the service lists none. */
  level: StockLevel | undefined;
  /** All lots of the item in the warehouse. */
  itemLots: readonly BookLot[];
  wid: number;
  reasonCodes: { surplus: number; shortage: number };
}

/** The correction of a group, or why there can be none; `undefined` if none is needed. */
export function correctGroup(
  row: CountedGroup,
  lots: readonly BookLot[],
  facts: GroupFacts,
): CountChange | { blocked: string } | undefined {
  const { item } = facts;
  if (!item) return { blocked: "the item does not exist" };
  if (facts.itemLots.length === 0 && item.shortID !== row.itemID)
    return { blocked: `the service spells the item "${item.shortID}"` };
  const { counted, ...group } = row;
  const book = sumOf(lots);
  const difference = differenceOf(counted, book);
  const misspelt = lots.length === 0 ? misspellings(row, facts.itemLots) : [];
  if (misspelt.length > 0) return { blocked: misspelt.join("; ") };
  if (difference.eq(0)) return undefined;
  const isSurplus = difference.gt(0);
  const problems = [
    ...commonProblems(lots, facts, item),
    ...(isSurplus ? surplusProblems(row, lots, facts) : shortageProblems(facts)),
  ];
  if (problems.length > 0) return { blocked: problems.join("; ") };
  return {
    ...group,
    itemID: item.shortID,
    operation: isSurplus ? "receive" : "issue",
    book: book.toNumber(),
    counted,
    units: difference.abs().toNumber(),
    uOM: item.uOM ?? "",
    lots,
    writes: isSurplus
      ? [receiptOf(row, difference, facts, item.shortID)]
      : issuesOf(lots, difference.abs(), facts, item.shortID),
  };
}

function commonProblems(lots: readonly BookLot[], facts: GroupFacts, item: Item): string[] {
  const { itemLots, level } = facts;
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

/** A bin in another spelling would be a second bin. */
function misspellings({ spot, serial }: CountedGroup, lots: readonly BookLot[]): string[] {
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

function surplusProblems(row: CountedGroup, lots: readonly BookLot[], { itemLots }: GroupFacts): string[] {
  const problems: string[] = [];
  const bins = binsOf(row, itemLots);
  if (bins.length > 1) problems.push(`the item is in several bins (${bins.join(", ")}): count each bin`);
  const serial = lots.find((lot) => lot.serial !== "")?.serial;
  if (row.serial === undefined && serial !== undefined) {
    problems.push(`its lots have serials, such as ${serial}: count each serial`);
  }
  for (const { recNo, serial2, rFIDTag, jobID } of lots) {
    if (serial2) problems.push(`lot ${recNo} has the second serial ${serial2}`);
    if (rFIDTag) problems.push(`lot ${recNo} has the tag ${rFIDTag}`);
    if (jobID) problems.push(`lot ${recNo} belongs to job ${jobID}`);
  }
  return problems;
}

const shortageProblems = ({ level }: GroupFacts): string[] =>
  level && level.packed !== 0 ? [`${level.packed} are packed for shipment`] : [];

/** Where a surplus may belong: the bin of the row, or those of the item. */
function binsOf({ spot }: CountedGroup, itemLots: readonly BookLot[]): string[] {
  return spot === undefined ? [...new Set(itemLots.map((lot) => lot.spot))] : [spot];
}

function receiptOf(
  row: CountedGroup,
  units: Big,
  { itemLots, wid, reasonCodes }: GroupFacts,
  itemID: string,
): ReceiveInput {
  const [spot] = binsOf(row, itemLots);
  return {
    itemID,
    units: units.toNumber(),
    wid,
    reasonCode: reasonCodes.surplus,
    ...(spot ? { spot } : {}),
    ...(row.serial ? { serial: row.serial } : {}),
  };
}

/** Issues of single lots, the oldest first. */
function issuesOf(
  lots: readonly BookLot[],
  units: Big,
  { wid, reasonCodes }: GroupFacts,
  itemID: string,
): IssueInput[] {
  let left = units;
  return lots.flatMap((lot) => {
    const taken = left.lt(lot.units) ? left : new Big(lot.units);
    left = left.minus(taken);
    if (isSameQuantity(taken, 0)) return [];
    return [{ itemID, units: taken.toNumber(), wid, reasonCode: reasonCodes.shortage, recno: lot.recNo }];
  });
}
