import type * as z from "zod";
import { type Item, itemSchema } from "../../schemas/item.js";
import { type Lot, lotSchema } from "../../schemas/lot.js";

/** The default of every field of an item, in the document's order. */
export const DEFAULT_ITEM_FIELDS: Item = itemSchema().parse({
  ...blankFieldsOf(itemSchema().shape),
  uOM: "EA",
  units: 1,
});

/** The default of every field of a lot, in the document's order. */
export const DEFAULT_LOT_FIELDS: Lot = lotSchema().parse({
  ...blankFieldsOf(lotSchema().shape),
  units: 1,
  active: true,
});

function blankFieldsOf(shape: Readonly<Record<string, z.ZodType>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(shape).map(([name, { type }]) => [name, blankValueOf(type)]));
}

function blankValueOf(type: z.ZodType["type"]): unknown {
  if (type === "nullable") return null;
  if (type === "number") return 0;
  return type === "boolean" ? false : "";
}
