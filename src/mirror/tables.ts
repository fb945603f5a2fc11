import * as z from "zod";
import type { Item } from "../service/item.js";
import { LISTS } from "../service/lists.js";
import type { Lot } from "../service/lot.js";
import type { StockLevel } from "../service/stock-level.js";
import { ResponseValidationError } from "../shared/errors/index.js";
import { integer, type LazySchema, lazy } from "../shared/schema.js";

/** The stock level of one item in one warehouse. */
export interface WarehouseStockLevel extends StockLevel {
  /** ID of the warehouse. */
  wID: number;
}

/** The records of each resource that can be mirrored. */
export interface MirrorRecords {
  /** The item master, discontinued items included. */
  items: Item;
  /** Lots of all warehouses in the client's scope. */
  lots: Lot;
  /** Stock levels over all warehouses. */
  stockLevels: StockLevel;
  /** Stock levels of single warehouses: those in the option `warehouses`. */
  warehouseStockLevels: WarehouseStockLevel;
}

/** The resources that can be mirrored. */
export type MirrorResource = keyof MirrorRecords;

/**
 * All resources, in the order in which they are read. Items come first, because their changes may show in their lots.
 */
export const RESOURCES = [
  "items",
  "lots",
  "stockLevels",
  "warehouseStockLevels",
] as const satisfies readonly MirrorResource[];

/** A record of any resource. */
export type MirrorRecord = MirrorRecords[MirrorResource];

/**
 * The type of a documented field. Any field may also be `null`: the service may document that, or may leave the field
 * out.
 */
export type ColumnType = "integer" | "decimal" | "text" | "boolean";

/** How a resource is stored. */
export interface Table {
  name: string;
  /** The fields that identify a record, all integers. The last one is unique within a list of the service. */
  key: readonly string[];
  /** The documented fields, spelled as on the wire, in the order of the schema. */
  columns: Readonly<Record<string, ColumnType>>;
}

const TABLE_DEFINITIONS: Readonly<
  Record<MirrorResource, Omit<Table, "columns"> & { schema: LazySchema<z.ZodObject> }>
> = {
  items: { name: "items", key: [LISTS.items.key], schema: LISTS.items.record },
  lots: { name: "lots", key: [LISTS.lots.key], schema: LISTS.lots.record },
  stockLevels: { name: "stock_levels", key: [LISTS.stockLevels.key], schema: LISTS.stockLevels.record },
  warehouseStockLevels: {
    name: "warehouse_stock_levels",
    key: ["wID", LISTS.stockLevels.key],
    schema: lazy(() => z.object({ wID: integer(), ...LISTS.stockLevels.record().shape })),
  },
};

const tableByResource = new Map<MirrorResource, Table>();

/** The table of a resource. A field that is added to the schema gets a column. */
export function tableOf(resource: MirrorResource): Table {
  let table = tableByResource.get(resource);
  if (table === undefined) {
    const { name, key, schema } = TABLE_DEFINITIONS[resource];
    const columns = Object.entries(schema().shape).map(([field, type]) => [field, columnTypeOf(type)] as const);
    table = { name, key, columns: Object.fromEntries(columns) };
    tableByResource.set(resource, table);
  }
  return table;
}

function columnTypeOf(field: unknown): ColumnType {
  if (field instanceof z.ZodNullable) return columnTypeOf(field.unwrap());
  if (field instanceof z.ZodNumber) return field.isInt ? "integer" : "decimal";
  if (field instanceof z.ZodBoolean) return "boolean";
  if (field instanceof z.ZodString) return "text";
  throw new TypeError("no column has the type of this field");
}

/** A list of the service that is mirrored. A resource is one list, except stock levels per warehouse: one per warehouse. */
export interface MirrorList {
  resource: MirrorResource;
  /** ID of the warehouse if the list is about one warehouse; otherwise `null`. */
  wID: number | null;
}

/** `lots`, or `warehouseStockLevels/3`. */
export const listName = ({ resource, wID }: MirrorList): string => (wID === null ? resource : `${resource}/${wID}`);

/** The lists of these resources, in the order in which they are read. */
export const mirrorListsOf = (resources: readonly MirrorResource[], warehouses: readonly number[]): MirrorList[] =>
  RESOURCES.filter((resource) => resources.includes(resource)).flatMap((resource): MirrorList[] =>
    resource === "warehouseStockLevels" ? warehouses.map((wID) => ({ resource, wID })) : [{ resource, wID: null }],
  );

/** Returns the key of a record, given the number that identifies the record within its list. */
export const keyOf = ({ wID }: MirrorList, number: number): number | string =>
  wID === null ? number : `${wID}/${number}`;

/** The field that identifies a record within its list. */
export const numberFieldOf = ({ resource }: MirrorList): string => tableOf(resource).key.at(-1) ?? "";

/** A record as its list has it, with the number that identifies it there. */
export interface NumberedRecord {
  number: number;
  record: MirrorRecord;
}

/**
 * Returns a record of a list with its number. Throws if it has no number, because it could not be stored. The service's
 * stock levels of one warehouse lack the ID of the warehouse, which is added.
 */
export function numberedRecord(list: MirrorList, listed: MirrorRecord): NumberedRecord {
  const { resource, wID } = list;
  const field = numberFieldOf(list);
  const number: unknown = Reflect.get(listed, field);
  if (typeof number === "number" && Number.isSafeInteger(number))
    return { number, record: wID === null ? listed : { ...listed, wID } };
  throw new ResponseValidationError(`mirror: a record of ${resource} has no ${field}`, {
    status: 200,
    issues: [{ path: [field], message: "must be an integer" }],
  });
}
