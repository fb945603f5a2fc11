import * as z from "zod";
import { integer, lazy } from "../../schemas/field.js";
import { itemSchema } from "../../schemas/item.js";
import { lotSchema } from "../../schemas/lot.js";
import { datetime, integerFrom, nonBlankString, quantity } from "../checks/fields.js";

/** An item as the caller gives it. */
export const userItemSchema = lazy(() =>
  openRecord(
    itemSchema()
      .extend({ partNo: integerFrom(1), units: quantity(), created: datetime(), modified: datetime() })
      .partial()
      .extend({ shortID: nonBlankString() }),
  ),
);

/** A lot as the caller gives it. */
export const userLotSchema = lazy(() =>
  openRecord(
    lotSchema()
      .extend({
        recNo: integerFrom(1),
        partNo: integerFrom(1),
        shortID: nonBlankString(),
        units: quantity(),
        received: datetime(),
        shipped: datetime().nullable(),
      })
      .partial(),
  ),
);

/**
 * Other fields are kept, as those that the service may add; but one that differs from a documented name in its case alone
 * is a slip of the pen (requests spell some names otherwise than answers).
 */
function openRecord(schema: z.ZodObject): z.ZodType {
  const names = new Map(Object.keys(schema.shape).map((field) => [field.toLowerCase(), field]));
  return schema.loose().superRefine((record, context) => {
    for (const field of Object.keys(record)) {
      const meant = names.get(field.toLowerCase());
      if (meant === undefined || meant === field) continue;
      context.addIssue({ code: "custom", path: [field], message: `must be spelt "${meant}"` });
    }
  });
}

export const userStockLevelSchema = lazy(() =>
  z
    .strictObject({ wid: integer(), onOrder: quantity(), committed: quantity(), packed: quantity(), aSN: quantity() })
    .partial()
    .extend({ shortID: nonBlankString() }),
);
