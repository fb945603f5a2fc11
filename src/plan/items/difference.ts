import type { Item } from "../../service/item.js";
import { comparableSku } from "../../service/key.js";
import { areCut, Notations } from "../notation.js";
import { type Comparison, fieldValue } from "./compare.js";
import type { DesiredRow } from "./desired.js";
import type { ItemChange, ReportedItem } from "./document.js";

export interface DifferenceOptions {
  rows: ReadonlyMap<string, DesiredRow>;
  fields: ReadonlySet<string>;
  comparison: Comparison;
  /** Whether an active item without a row is to be discontinued. */
  isDropped(item: Item): boolean;
  /** Whether the item counts for `maxDiscontinuedShare`. */
  isOwned(item: Item): boolean;
}

export class ItemDifference {
  readonly changes: ItemChange[] = [];
  readonly blocked: ReportedItem[] = [];
  /** Active items that are to be discontinued. */
  discontinued: Item[] = [];
  /** The items of `discontinued` that have no row. */
  readonly absent = new Set<Item>();
  readonly fieldNames = new Set<string>();
  unchanged = 0;
  /** How many items the service lists. */
  items = 0;
  /** The number of active items that count for `maxDiscontinuedShare`. */
  owned = 0;
  /** The SKU of each item, by part number. */
  readonly skuOfPartNo = new Map<number, string>();
  readonly #found = new Set<DesiredRow>();
  /** Rows whose SKU a spreadsheet may have changed. */
  readonly #rewritten = new Set<DesiredRow>();
  /** The service's spelling of SKUs that are spelled otherwise in their rows. */
  readonly #otherSpellings = new Map<DesiredRow, string>();

  constructor(private readonly options: DifferenceOptions) {}

  addItem(item: Item): void {
    this.items += 1;
    this.skuOfPartNo.set(item.partNo, item.shortID);
    for (const name of Object.keys(item)) this.fieldNames.add(name);
    const { rows, isDropped, isOwned } = this.options;
    const row = rows.get(comparableSku(item.shortID));
    const isDiscontinuedByRow = row !== undefined && this.#isDiscontinued(row);
    if (!item.discontinued && (isDiscontinuedByRow || isOwned(item))) this.owned += 1;
    if (!row) {
      if (item.discontinued || !isDropped(item)) return;
      this.discontinued.push(item);
      this.absent.add(item);
    } else if (row.shortID !== item.shortID) this.#otherSpellings.set(row, item.shortID);
    else this.#addFound(row, item);
  }

  /** Decides about the rows without an item. */
  finish(): void {
    this.#blockRewritten();
    for (const row of this.options.rows.values()) {
      if (this.#found.has(row) || this.#rewritten.has(row)) continue;
      const { shortID, fields } = row;
      const spelling = this.#otherSpellings.get(row);
      if (spelling !== undefined) this.blocked.push({ shortID, reason: `the service spells it "${spelling}"` });
      else if (this.#isDiscontinued(row)) this.unchanged += 1;
      else this.changes.push({ operation: "create", shortID, fields: fieldChanges(fields, {}) });
    }
  }

  /** Blocks rows whose SKU may be another notation of the SKU of an item without a row. Keeps that item active. */
  #blockRewritten(): void {
    const { rows } = this.options;
    const created = new Notations<DesiredRow>(areCut([...rows.values()].map((row) => row.shortID)));
    for (const row of rows.values())
      if (!this.#found.has(row) && !this.#otherSpellings.has(row)) created.add(row.shortID, row);
    const kept = new Map<string, string>();
    for (const sku of created.isEmpty ? [] : this.skuOfPartNo.values()) {
      if (rows.has(comparableSku(sku))) continue;
      for (const { text: shortID, named: row } of created.alike(sku)) {
        kept.set(sku, shortID);
        if (this.#rewritten.has(row)) continue;
        this.#rewritten.add(row);
        const reason = `the item "${sku}" exists: has a spreadsheet changed the SKU? If both are meant, add a row of "${sku}"`;
        this.blocked.push({ shortID, reason });
      }
    }
    this.discontinued = this.discontinued.filter(({ shortID }) => {
      const row = kept.get(shortID);
      const reason = `the row "${row}" may be this item: has a spreadsheet changed the SKU?`;
      if (row !== undefined) this.blocked.push({ shortID, reason });
      return row === undefined;
    });
  }

  #isDiscontinued({ fields }: DesiredRow): boolean {
    return fields.discontinued === true && this.options.fields.has("discontinued");
  }

  #addFound(row: DesiredRow, item: Item): void {
    const { shortID } = row;
    this.#found.add(row);
    if (this.#isDiscontinued(row)) {
      if (item.discontinued) this.unchanged += 1;
      else this.discontinued.push(item);
      return;
    }
    if (item.discontinued) {
      const reason = "it is discontinued, and the service documents no way back";
      this.blocked.push({ shortID, reason });
      return;
    }
    const { fields: compared, comparison } = this.options;
    const changed = Object.entries(row.fields).filter(
      ([name, after]) => compared.has(name) && !comparison.isDesired(shortID, name, after, fieldValue(item, name)),
    );
    if (changed.length === 0) this.unchanged += 1;
    else this.changes.push({ operation: "update", shortID, fields: fieldChanges(Object.fromEntries(changed), item) });
  }
}

const fieldChanges = (after: object, before: object): ItemChange["fields"] =>
  Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, { before: fieldValue(before, name), after: value }]),
  );

/** Returns the discontinuation of an item, with all fields except `modified`, which also changes for other reasons. */
export function discontinueChange(item: Item, isAbsent: boolean): ItemChange {
  const { modified: _, ...fields } = item;
  const discontinued = { before: false, after: true };
  return {
    operation: "discontinue",
    shortID: item.shortID,
    ...(isAbsent && { isAbsent }),
    fields: { ...fieldChanges(fields, item), discontinued },
  };
}
