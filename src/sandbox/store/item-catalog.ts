import { type Item, itemSchema } from "../../schemas/item.js";
import { formatIsoTime, parseIsoTime } from "../time.js";
import { SortedRecords } from "./sorted-records.js";

/** An item, and what the service stores about it but does not always show. */
export interface CatalogEntry {
  readonly item: Item;
  /** ID of the client that created it. */
  readonly createdBy: string;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

/** The item master. */
export class ItemCatalog {
  /** Every item, discontinued ones included. */
  readonly entries: SortedRecords<CatalogEntry, keyof Item>;

  private readonly bySku: Map<string, CatalogEntry>;
  private readonly byPartNo: Map<number, CatalogEntry>;
  private nextPartNo: number;

  constructor(
    items: readonly Item[],
    private readonly aliases: ReadonlyMap<string, string>,
    firstPartNo: number,
  ) {
    const entries = items.map(
      (item): CatalogEntry => ({
        item: { ...item },
        createdBy: "seed",
        modifiedAt: parseIsoTime(item.modified) ?? 0,
      }),
    );
    this.bySku = new Map(entries.map((entry) => [entry.item.shortID, entry]));
    this.byPartNo = new Map(entries.map((entry) => [entry.item.partNo, entry]));
    this.nextPartNo = items.reduce((next, { partNo }) => Math.max(next, partNo + 1), firstPartNo);
    this.entries = new SortedRecords(entries, {
      columns: itemSchema().keyof().options,
      defaultColumn: "shortID",
      key: ({ item }, column) => item[column],
      id: ({ item }) => item.partNo,
    });
  }

  findBySku(shortID: string): CatalogEntry | undefined {
    return this.bySku.get(shortID);
  }

  findByPartNo(partNo: number): CatalogEntry | undefined {
    return this.byPartNo.get(partNo);
  }

  findByAlias(alias: string): CatalogEntry | undefined {
    const shortID = this.aliases.get(alias);
    return shortID === undefined ? undefined : this.bySku.get(shortID);
  }

  /** Adds an item under the next part number, created now and active, whatever the fields contain. */
  create(fields: Item, createdBy: string, now: number): CatalogEntry {
    const at = formatIsoTime(now);
    const item = { ...fields, partNo: this.nextPartNo++, created: at, modified: at, discontinued: false };
    const entry = { item, createdBy, modifiedAt: now };
    this.bySku.set(item.shortID, entry);
    this.byPartNo.set(item.partNo, entry);
    this.entries.add(entry);
    return entry;
  }

  /** Changes the given fields and the time of the last change. */
  update(entry: CatalogEntry, changes: Partial<Item>, now: number): void {
    Object.assign(entry.item, changes, { modified: formatIsoTime(now) });
    entry.modifiedAt = now;
    this.entries.markChanged();
  }
}
