import { sumOf } from "../../plan/count/quantity.js";
import { groupBy } from "../../plan/group-by.js";
import type { BookLot, CountSnapshot } from "../../plan/index.js";
import { recordFormat } from "../export/record-format.js";

/** The columns of a sheet, in order. `only`: those that a count does not read. */
export const SHEET_COLUMNS = {
  all: ["spot", "itemID", "description", "serial", "uOM", "book", "counted"],
  only: ["description", "uOM", "book"],
};

/** A CSV for people who count: a line per bin, item and serial, sorted by bin. `counted` is for them to fill in. */
export function countSheet({ lots, items }: CountSnapshot, { isBlind }: { isBlind: boolean }): string {
  const itemOf = new Map(items.map((item) => [item.shortID, item]));
  const groups = groupBy(lots, ({ shortID, spot, serial }) => JSON.stringify([shortID, spot, serial]));
  const columns = SHEET_COLUMNS.all.filter((name) => !(isBlind && name === "book"));
  const records = [...groups.values()]
    .flatMap((group) => group.slice(0, 1).map((lot) => ({ ...lot, book: sumOf(group) })))
    .sort(compareLots)
    .map(({ spot, shortID, serial, book }) => ({
      spot,
      itemID: shortID,
      description: itemOf.get(shortID)?.description ?? "",
      serial,
      uOM: itemOf.get(shortID)?.uOM ?? "",
      book: book.toNumber(),
      counted: "",
    }));
  const format = recordFormat("csv", columns, columns);
  return format.encode(records, 0) + format.end(records.length);
}

/** A-2 before A-10. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

const compareLots = (one: BookLot, other: BookLot): number =>
  byName(one.spot, other.spot) || byName(one.shortID, other.shortID) || byName(one.serial, other.serial);
