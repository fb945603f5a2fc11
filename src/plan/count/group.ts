import { Big } from "big.js";
import { serviceTimeMs } from "../../service/date.js";
import { comparableSku } from "../../service/key.js";
import { DUST, isInStock, type Lot } from "../../service/lot.js";
import { groupBy } from "../../shared/group-by.js";
import { castUnchecked, fieldOf } from "../../shared/unknown.js";

/** Stock that is counted together: an item in one bin or in all bins, with one serial or with all serials. */
export interface CountGroup {
  /** SKU of the item. */
  itemID: string;
  /** Bin; an empty string is the bin without a name. If missing, all bins together. */
  spot?: string;
  /** Serial number; an empty string means lots without a serial. If missing, all serials together. */
  serial?: string;
}

/** Bin and serial in words, such as `bin A-01, serial S1`. */
export function describeBins({ spot, serial }: Omit<CountGroup, "itemID">): string {
  const bin = spot === undefined ? "all bins" : spot === "" ? "bin without a name" : `bin ${spot}`;
  const serials = serial === undefined ? "" : serial === "" ? ", without serial" : `, serial ${serial}`;
  return `${bin}${serials}`;
}

export const describeGroup = (group: CountGroup): string => `${group.itemID}  ${describeBins(group)}`;

const BOOK_FIELDS = [
  "recNo",
  "partNo",
  "shortID",
  "spot",
  "units",
  "received",
  "serial",
  "serial2",
  "rFIDTag",
  "hold",
  "associate",
  "jobID",
] as const satisfies readonly (keyof Lot)[];

/** The fields of a lot that matter in a count. */
export type BookLot = Pick<Lot, (typeof BOOK_FIELDS)[number]>;

const isSameField = (name: keyof BookLot, one: BookLot, other: BookLot): boolean =>
  name === "units" ? isSameQuantity(one.units, other.units) : (one[name] ?? "") === (other[name] ?? "");

/** Returns the fields of a lot; `undefined` if it is not in stock. Fields that the service leaves out get defaults. */
export function bookLotOf(lot: Lot): BookLot | undefined {
  if (!isInStock(lot)) return undefined;
  const fields = BOOK_FIELDS.map((name) => [name, lot[name] ?? fieldOf(DEFAULTS, name)]);
  return castUnchecked<BookLot>(Object.fromEntries(fields));
}

const EMPTY = { spot: "", received: "", serial: "", associate: "" };
const DEFAULTS = { ...EMPTY, serial2: null, rFIDTag: null, hold: false, jobID: 0 };

/** Groups lots by the comparable SKU of their item. */
export const lotsByItem = <L extends Pick<Lot, "shortID">>(lots: Iterable<L>): Map<string, L[]> =>
  groupBy(lots, ({ shortID }) => comparableSku(shortID));

export const isInGroup = ({ spot, serial }: CountGroup, lot: Pick<Lot, "spot" | "serial">): boolean =>
  (spot === undefined || (lot.spot ?? "") === spot) && (serial === undefined || (lot.serial ?? "") === serial);

/** Returns the lots of a group among the lots of its item, the oldest first. */
export function lotsOfGroup(group: CountGroup, lots: readonly BookLot[] = []): BookLot[] {
  const members = lots.filter((lot) => isInGroup(group, lot));
  return members.sort((one, other) => receivedAt(one) - receivedAt(other) || one.recNo - other.recNo);
}

const receivedAt = ({ received }: BookLot): number => serviceTimeMs(received) ?? 0;

/** The facts about a movement that the lots before and after it do not show. */
interface MovementFacts {
  wid: number;
  /** When the lots were read before: ISO 8601. */
  since: string;
  /** Lots that were modified since then, in all warehouses. */
  modified?: readonly Lot[];
}

/** Describes how the lots of a group have changed: which lot, where and when; `undefined` if they have not. */
export function describeMovement(
  before: readonly BookLot[],
  after: readonly BookLot[],
  { wid, since, modified = [] }: MovementFacts,
): string | undefined {
  const present = new Map(after.map((lot): [number, BookLot] => [lot.recNo, lot]));
  const known = new Set(before.map(({ recNo }) => recNo));
  const modifiedLot = new Map(modified.map((lot) => [lot.recNo, lot]));
  const changes = [
    ...before.flatMap((lot) => describeLotChange(lot, present.get(lot.recNo), modifiedLot.get(lot.recNo))),
    ...after
      .filter(({ recNo }) => !known.has(recNo))
      .map(
        ({ recNo, units, spot, received }) =>
          `lot ${recNo} is new in ${binName(spot)}, with ${units}, received ${received}`,
      ),
  ];
  const [first] = modified;
  // A lot may have been modified and look as before.
  if (changes.length === 0 && first) changes.push(describeModified(first));
  if (changes.length === 0) return undefined;
  const more = changes.length - MAX_NAMED_CHANGES;
  const named = changes.slice(0, MAX_NAMED_CHANGES).join("; ") + (more > 0 ? `; and ${more} more` : "");
  return `of ${since}, warehouse ${wid}: ${named}`;
}

const MAX_NAMED_CHANGES = 3;

const binName = (spot: string | undefined) => (spot ? `bin ${spot}` : "the bin without a name");

function describeLotChange(before: BookLot, after: BookLot | undefined, modified: Lot | undefined): string[] {
  const { recNo, spot, units } = before;
  const at = modified ? modifiedAt(modified) : "";
  const lot = `lot ${recNo} in ${binName(spot)}`;
  if (!after) {
    const place = modified ? `, now in warehouse ${modified.wID}, ${binName(modified.spot)}` : "";
    return [`${lot} with ${units} is gone${place}${at}`];
  }
  const changed = BOOK_FIELDS.filter((name) => !isSameField(name, before, after));
  return changed.map((name) => {
    if (name === "units") return `${lot} had ${units}, now ${after.units}${at}`;
    return name === "spot" ? `${lot} is now in ${binName(after.spot)}${at}` : `${lot} has another ${name}${at}`;
  });
}

const describeModified = (lot: Lot) =>
  `lot ${lot.recNo}, now in warehouse ${lot.wID}, ${binName(lot.spot)}, was modified${modifiedAt(lot)}`;

/** Describes when a lot was modified. The document does not show the field `modified` in lots: it may be missing. */
function modifiedAt(lot: Lot): string {
  const modified = fieldOf(lot, "modified");
  return typeof modified === "string" && modified !== "" ? ` at ${modified}` : "";
}

/** The largest difference that does not count, as a share of the quantity: a service may add in floating point. */
const TOLERANCE = 1e-13;

export const sumOf = (records: readonly { units: number }[]): Big =>
  records.reduce((sum, { units }) => sum.plus(units), new Big(0));

/** Returns counted minus book quantity; 0 if the difference is within the tolerance. */
export function differenceOf(counted: number | Big, book: number | Big): Big {
  const difference = new Big(counted).minus(book);
  const size = Math.max(1, new Big(counted).abs().toNumber(), new Big(book).abs().toNumber());
  return difference.abs().lte(Math.max(DUST, TOLERANCE * size)) ? new Big(0) : difference;
}

export const isSameQuantity = (one: number | Big, other: number | Big): boolean => differenceOf(one, other).eq(0);
