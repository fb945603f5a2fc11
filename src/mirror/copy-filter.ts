import * as z from "zod";
import { checkInput } from "../schemas/check.js";
import { integer, type LazySchema, lazy, optionalFields } from "../schemas/field.js";
import { valueThat } from "../schemas/option.js";
import { type MirrorKey, type MirrorResource, RESOURCES } from "./tables.js";

// What the methods of `openCopy` take.

/** Which items to read: those that have all of these values. */
export interface CopyItemFilter {
  /** The SKU, without regard to case and surrounding spaces. */
  shortID?: string | undefined;
  /** The part number. */
  partNo?: number | undefined;
  /** ID of the category. */
  category?: number | undefined;
}

/** Which lots to read: those that have all of these values. */
export interface CopyLotFilter {
  /** The SKU of the item, without regard to case and surrounding spaces. */
  shortID?: string | undefined;
  /** The part number of the item. */
  partNo?: number | undefined;
  /** ID of the warehouse. */
  wID?: number | undefined;
  /** The bin, exactly as served. */
  spot?: string | undefined;
  /** The serial number, exactly as served. */
  serial?: string | undefined;
  /** The RFID tag, exactly as served. */
  rFIDTag?: string | undefined;
}

/** Which stock levels to read: those that have all of these values. */
export interface CopyStockLevelFilter {
  /** The SKU of the item, without regard to case and surrounding spaces. Requires that the copy has items. */
  shortID?: string | undefined;
  /** The part number of the item. */
  partNo?: number | undefined;
  /** ID of a warehouse: its levels, which the mirror reads with the option `warehouses`. By default the sums of all. */
  wID?: number | undefined;
}

/** Which changes to read: those that have all of these values. */
export interface CopyChangesFilter {
  /**
   * The `seq` of a change, its number: those that follow it.
   * @default the changes from the oldest on
   */
  after?: number | undefined;
  /** The resource. */
  resource?: MirrorResource | undefined;
  /** The key of a record. */
  key?: MirrorKey | undefined;
}

/** No database stores another string in a column. */
const storable = () =>
  valueThat<string>(
    (value) => typeof value === "string" && value.isWellFormed() && !value.includes("\0"),
    "must be a string without NUL and unpaired surrogates",
  );

const filterSchemaOf = (shape: () => z.ZodRawShape): LazySchema<z.ZodObject> =>
  lazy(() => z.strictObject(optionalFields(shape())));

export const itemFilterSchema = filterSchemaOf(() => ({ shortID: storable(), partNo: integer(), category: integer() }));
export const stockLevelFilterSchema = filterSchemaOf(() => ({
  shortID: storable(),
  partNo: integer(),
  wID: integer(),
}));
export const lotFilterSchema = filterSchemaOf(() => ({
  ...stockLevelFilterSchema().shape,
  spot: storable(),
  serial: storable(),
  rFIDTag: storable(),
}));

export const changesFilterSchema = lazy(() =>
  z.strictObject({
    after: integer().min(0).optional(),
    resource: z.enum(RESOURCES).optional(),
    key: z.union([integer(), storable()]).optional(),
  }),
);

/** Values of fields. */
export type CopyFilter = Readonly<Record<string, string | number>>;

/** The values to look for; those that are `undefined` are left out. */
export function checkFilter(method: string, schema: LazySchema<z.ZodObject>, filter: object): CopyFilter {
  const given = Object.entries(checkInput(method, schema, filter, [], { noun: "field" }));
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
