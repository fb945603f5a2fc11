import { z } from "zod";
import { integer, lazy } from "../../schemas/field.js";
import { itemSchema } from "../../schemas/item.js";
import { lotSchema } from "../../schemas/lot.js";
import { datetime, name, quantity, wholeFrom } from "../checks/fields.js";

/** An item as the caller gives it: fields of the document and no others, so that a slip of the pen shows. */
export const ownItemSchema = lazy(() =>
  itemSchema()
    .extend({ partNo: wholeFrom(1), units: quantity(), created: datetime(), modified: datetime() })
    .partial()
    .extend({ shortID: name() })
    .strict(),
);

/** A lot as the caller gives it. */
export const ownLotSchema = lazy(() =>
  lotSchema()
    .extend({
      recNo: wholeFrom(1),
      partNo: wholeFrom(1),
      shortID: name(),
      units: quantity(),
      received: datetime(),
      shipped: datetime().nullable(),
    })
    .partial()
    .strict(),
);

export const ownStockLevelSchema = lazy(() =>
  z
    .strictObject({ wid: integer(), onOrder: quantity(), committed: quantity(), packed: quantity(), aSN: quantity() })
    .partial()
    .extend({ shortID: name() }),
);
