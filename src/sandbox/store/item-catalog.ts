import { type Item, itemSchema } from "../../schemas/item.js";
import { formatIsoTime, parseIsoTime } from "../time.js";
import { JsonCache } from "./json-cache.js";
import { RecordIndex, type RecordSource } from "./record-index.js";

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
  /** Items that are not discontinued. */
  readonly active: RecordIndex<keyof Item>;
  /** Every item. */
  readonly all: RecordIndex<keyof Item>;

  private readonly entriesBySku = new Map<string, CatalogEntry>();
  private readonly entriesByPartNo = new Map<number, CatalogEntry>();
  private readonly jsonCache = new JsonCache();
  private nextPartNo: number;

  constructor(
    items: readonly Item[],
    private readonly aliases: ReadonlyMap<string, string>,
    firstPartNo: number,
  ) {
    for (const item of items) {
      this.store({ item: { ...item }, createdBy: "seed", modifiedAt: parseIsoTime(item.modified) ?? 0 });
    }
    this.nextPartNo = items.reduce((next, { partNo }) => Math.max(next, partNo + 1), firstPartNo);
    this.active = new RecordIndex(this.recordSource((entry) => !entry.item.discontinued));
    this.all = new RecordIndex(this.recordSource(() => true));
  }

  findBySku(shortID: string): CatalogEntry | undefined {
    return this.entriesBySku.get(shortID);
  }

  findByPartNo(partNo: number): CatalogEntry | undefined {
    return this.entriesByPartNo.get(partNo);
  }

  /** The item's JSON as bytes. `form` must return the same for the same entry, since the bytes are cached. */
  toJson(partNo: number, form: (entry: CatalogEntry) => Item): Uint8Array {
    return this.jsonCache.get(partNo, () => {
      const entry = this.entriesByPartNo.get(partNo);
      return entry ? form(entry) : null;
    });
  }

  findByAlias(alias: string): CatalogEntry | undefined {
    const shortID = this.aliases.get(alias);
    return shortID === undefined ? undefined : this.entriesBySku.get(shortID);
  }

  /** Adds an item under the next part number, created now and active, whatever the fields contain. */
  create(fields: Item, createdBy: string, now: number): Item {
    const at = formatIsoTime(now);
    const item = { ...fields, partNo: this.nextPartNo++, created: at, modified: at, discontinued: false };
    this.store({ item, createdBy, modifiedAt: now });
    this.all.add(item.partNo);
    this.active.add(item.partNo);
    return item;
  }

  /** Changes the given fields and the time of the last change. */
  update(entry: CatalogEntry, changes: Partial<Item>, now: number): void {
    const { partNo } = entry.item;
    this.all.remove(partNo);
    if (!entry.item.discontinued) this.active.remove(partNo);
    Object.assign(entry.item, changes, { modified: formatIsoTime(now) });
    entry.modifiedAt = now;
    this.jsonCache.delete(partNo);
    this.all.add(partNo);
    if (!entry.item.discontinued) this.active.add(partNo);
  }

  private store(entry: CatalogEntry): void {
    this.entriesBySku.set(entry.item.shortID, entry);
    this.entriesByPartNo.set(entry.item.partNo, entry);
  }

  private recordSource(belongs: (entry: CatalogEntry) => boolean): RecordSource<keyof Item> {
    return {
      defaultColumn: "shortID",
      columns: itemSchema().keyof().options,
      ids: () =>
        this.entriesInOrder()
          .filter(belongs)
          .map(({ item }) => item.partNo),
      key: (partNo, column) => this.entriesByPartNo.get(partNo)?.item[column],
      modifiedAt: (partNo) => this.entriesByPartNo.get(partNo)?.modifiedAt ?? 0,
    };
  }

  private entriesInOrder(): CatalogEntry[] {
    return [...this.entriesByPartNo.values()].sort((a, b) => (a.item.shortID < b.item.shortID ? -1 : 1));
  }
}
