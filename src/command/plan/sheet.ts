import { type CountGroup, checkOf, sumOf } from "../../plan/for-rooms.js";
import type { BookLot, CountSnapshot } from "../../plan/index.js";
import { comparableSku } from "../../service/key.js";
import { groupBy } from "../../shared/group-by.js";
import { csvFormat } from "../export/record-format.js";

/** A line of a sheet: a group in one bin, with one serial. */
type SheetGroup = Required<CountGroup> & { book: number };

export function sheetGroups(lots: readonly BookLot[]): SheetGroup[] {
  const groups = groupBy(lots, ({ shortID, spot, serial }) => JSON.stringify([shortID, spot, serial]));
  return [...groups.values()].flatMap((group) =>
    group
      .slice(0, 1)
      .map(({ shortID, spot, serial }) => ({ itemID: shortID, spot, serial, book: sumOf(group).toNumber() })),
  );
}

/**
 * Returns all groups of the items that have blocked groups: the groups of the present lots, and groups of the snapshot
 * that have no lot any more. A group that only a counted row has is left out, because nobody knows whether it exists.
 */
export function groupsToRecount(
  blocked: readonly CountGroup[],
  now: readonly BookLot[],
  before: readonly BookLot[],
): SheetGroup[] {
  const skus = new Set(blocked.map(({ itemID }) => comparableSku(itemID)));
  const isBlocked = ({ itemID }: CountGroup) => skus.has(comparableSku(itemID));
  const present = sheetGroups(now).filter(isBlocked);
  const known = new Set(present.map(checkOf));
  const gone = sheetGroups(before).filter((group) => isBlocked(group) && !known.has(checkOf(group)));
  return [...present, ...gone.map((group) => ({ ...group, book: 0 }))];
}

/**
 * A CSV for people who count: a line per bin, item and serial, sorted by bin. `counted` is for them to fill in; `check` shows
 * later that a line is still the one that was printed.
 */
export function countSheet(groups: readonly SheetGroup[], items: CountSnapshot["items"], isBlind: boolean): string {
  const itemOf = new Map(items.map((item) => [item.shortID, item]));
  const records = [...groups].sort(compareGroups).map(({ book, ...group }) => ({
    ...group,
    description: itemOf.get(group.itemID)?.description ?? "",
    uOM: itemOf.get(group.itemID)?.uOM ?? "",
    book,
    counted: "",
    check: checkOf(group),
  }));
  const columns = ["spot", "itemID", "description", "serial", "uOM", "book", "counted", "check"];
  const { header, encode } = csvFormat(columns.filter((column) => column !== "book" || !isBlind));
  return header + encode(records);
}

/** A-2 before A-10. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

const compareGroups = (one: SheetGroup, other: SheetGroup): number =>
  byName(one.spot, other.spot) || byName(one.itemID, other.itemID) || byName(one.serial, other.serial);
