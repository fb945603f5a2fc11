import { type Item, itemSchema } from "../../service/item.js";
import { formatIsoTime, parseIsoTime } from "../values.js";
import { SortedRecords } from "./sorted-records.js";

/** An item, and what the service stores about it but does not always show. */
export interface StoredItem {
  readonly item: Item;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

export class ItemCatalog {
  /** Every item, discontinued ones included. */
  readonly records: SortedRecords<StoredItem, keyof Item>;

  readonly #bySku: Map<string, StoredItem>;
  readonly #byPartNo: Map<number, StoredItem>;
  readonly #aliases: ReadonlyMap<string, string>;
  #nextPartNo: number;

  constructor(items: readonly Item[], aliases: ReadonlyMap<string, string>, firstPartNo: number) {
    this.#aliases = aliases;
    const records = items.map(
      (item): StoredItem => ({
        item: { ...item },
        modifiedAt: parseIsoTime(item.modified) ?? 0,
      }),
    );
    this.#bySku = new Map(records.map((stored) => [stored.item.shortID, stored]));
    this.#byPartNo = new Map(records.map((stored) => [stored.item.partNo, stored]));
    this.#nextPartNo = items.reduce((next, { partNo }) => Math.max(next, partNo + 1), firstPartNo);
    this.records = new SortedRecords(records, {
      columns: itemSchema().keyof().options,
      defaultColumn: "shortID",
      key: ({ item }, column) => item[column],
      id: ({ item }) => item.partNo,
    });
  }

  findBySku(shortID: string): StoredItem | undefined {
    return this.#bySku.get(shortID);
  }

  findByPartNo(partNo: number): StoredItem | undefined {
    return this.#byPartNo.get(partNo);
  }

  findByAlias(alias: string): StoredItem | undefined {
    const shortID = this.#aliases.get(alias);
    return shortID === undefined ? undefined : this.#bySku.get(shortID);
  }

  /** Adds an item under the next part number, created now and active, whatever the fields contain. */
  create(fields: Item, now: number): StoredItem {
    const at = formatIsoTime(now);
    const item = { ...fields, partNo: this.#nextPartNo++, created: at, modified: at, discontinued: false };
    const stored = { item, modifiedAt: now };
    this.#bySku.set(item.shortID, stored);
    this.#byPartNo.set(item.partNo, stored);
    this.records.markChanged(stored);
    return stored;
  }

  update(stored: StoredItem, changes: Partial<Item>, now: number): void {
    Object.assign(stored.item, changes, { modified: formatIsoTime(now) });
    stored.modifiedAt = now;
    this.records.markChanged();
  }
}
