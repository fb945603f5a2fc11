import type { Item } from "../schemas/item.js";
import type { Lot } from "../schemas/lot.js";
import type { StockLevel } from "../schemas/stock-level.js";

/** The records of each resource that can be mirrored. */
export interface MirrorRecords {
  /** The item master, discontinued items included. */
  items: Item;
  /** Lots of all warehouses in the client's scope. */
  lots: Lot;
  /** Stock levels over all warehouses. */
  stockLevels: StockLevel;
}

/** What can be mirrored. */
export type MirrorResource = keyof MirrorRecords;

/** All of them. Items first: a change of theirs may show in their lots. */
export const RESOURCES: readonly MirrorResource[] = ["items", "lots", "stockLevels"];

/** A record of any resource. */
export type MirrorRecord = MirrorRecords[MirrorResource];

/** What a documented field holds; `null` besides, where the service says so or leaves the field out. */
export type ColumnType = "integer" | "decimal" | "text" | "boolean";

/** How a resource is kept: its table, the field that tells its records apart, and its documented fields. */
export interface Table {
  name: string;
  key: string;
  columns: Readonly<Record<string, ColumnType>>;
}

/** Names all fields of a record type, and no others. */
type TableOf<T> = Table & { key: keyof T; columns: Record<keyof T, ColumnType> };

/** The tables of a copy. Fields are spelled as on the wire. Source: service interface, "Resources and their fields". */
export const TABLES: Readonly<Record<MirrorResource, Table>> = {
  items: {
    name: "items",
    key: "partNo",
    columns: {
      partNo: "integer",
      shortID: "text",
      description: "text",
      category: "integer",
      subCategory: "integer",
      uOM: "text",
      putUp: "text",
      units: "decimal",
      dfltOwner: "integer",
      created: "text",
      modified: "text",
      discontinued: "boolean",
    },
  },
  lots: {
    name: "lots",
    key: "recNo",
    columns: {
      recNo: "integer",
      partNo: "integer",
      shortID: "text",
      description: "text",
      associate: "text",
      warehouse: "text",
      wID: "integer",
      spot: "text",
      units: "decimal",
      received: "text",
      shipped: "text",
      serial: "text",
      serial2: "text",
      rFIDTag: "text",
      remark: "text",
      hold: "boolean",
      jobID: "integer",
      jobName: "text",
      active: "boolean",
    },
  },
  stockLevels: {
    name: "stock_levels",
    key: "partNo",
    columns: {
      partNo: "integer",
      available: "decimal",
      inStock: "decimal",
      onOrder: "decimal",
      onHold: "decimal",
      committed: "decimal",
      packed: "decimal",
      aSN: "decimal",
    },
  },
} satisfies { [R in MirrorResource]: TableOf<MirrorRecords[R]> };
