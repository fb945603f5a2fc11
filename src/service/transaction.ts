import * as z from "zod";
import { decimal, integer, lazy, optionalFields, type SameShape, string } from "../shared/schema.js";
import { dateFilterSchema, dateInputSchema } from "./date.js";

/** The stock that a transaction concerns. */
interface ItemQuantity {
  /** Item SKU. */
  itemID: string;
  /**
   * Quantity, greater than 0, in the item's unit of measure (`uOM`).
   *
   * Sent exactly as JavaScript prints it: 0.1 + 0.2 is sent as 0.30000000000000004. Round calculated quantities first.
   */
  units: number;
  /** Serial or lot number. */
  serial?: string | undefined;
  /** Secondary serial number. */
  serial2?: string | undefined;
  /** RFID tag. */
  rfidTag?: string | undefined;
  /** External reference, for example a purchase order number. */
  reference?: string | undefined;
}

/** A transaction that adds to the stock or takes from it. */
interface Adjustment extends ItemQuantity {
  /**
   * Reason code of the adjustment.
   *
   * Why the stock changes, for example a purchase or a correction. Each service has its own codes and documents none:
   * ask its administrator. Any integer is sent.
   */
  reasonCode: number;
  /** Notes. */
  remark?: string | undefined;
  /** Net weight; unit not documented by the service. */
  netWeight?: number | undefined;
}

/**
 * Stock to book in (a positive adjustment). Source: service interface, "POST /Inventory/Receive".
 */
export interface ReceiveInput extends Adjustment {
  /** Destination warehouse ID. */
  wid: number;
  /** Bin or location. */
  spot?: string | undefined;
  /** Gross weight; unit not documented by the service. */
  grossWeight?: number | undefined;
  /** Cost of one unit; currency and unit not documented by the service. */
  price?: number | undefined;
  /**
   * Expiration date.
   *
   * Best a string such as `"2027-03-31"`, which is sent unchanged. A `Date` is sent in UTC, so midnight in your time
   * zone can become the day before.
   */
  expires?: Date | string | undefined;
  /** Vendor or supplier ID. */
  supplier?: number | undefined;
  /** Purchase order line number, when receiving against an order. */
  line?: number | undefined;
  /** Job or project ID. */
  jobid?: number | undefined;
}

/**
 * Stock to move: within a warehouse with `fromSpot` and `toSpot`, to another one with `shipToWid`.
 * Source: service interface, "POST /Inventory/Move".
 *
 * The client refuses a move without a destination: one of `toSpot` and `shipToWid` is required.
 */
export interface MoveInput extends ItemQuantity {
  /** Source warehouse ID. */
  wid: number;
  /** Source bin or location. */
  fromSpot?: string | undefined;
  /** Destination bin or location. */
  toSpot?: string | undefined;
  /** Destination warehouse ID, for a move to another warehouse. Both must be in the client's scope. */
  shipToWid?: number | undefined;
  /** Transit slip reference. */
  transitSlip?: string | undefined;
  /** Record number of the lot to move. */
  recno?: number | undefined;
  /** Received-date filter. */
  received?: Date | string | undefined;
}

/**
 * Stock to book out (a negative adjustment). Source: service interface, "POST /Inventory/Issue".
 */
export interface IssueInput extends Adjustment {
  /** Source warehouse ID. */
  wid: number;
  /** Bin or location to issue from. */
  spot?: string | undefined;
  /** Ship-to customer ID. */
  shipto?: number | undefined;
  /** Production or assembly ID. */
  prodID?: string | undefined;
  /** Record number of the lot to issue from. */
  recno?: number | undefined;
  /** Order line number. */
  line?: number | undefined;
}

const itemQuantityShape = () => ({ itemID: string().min(1), units: decimal().positive(), wid: integer() });

const lotFilterShape = () => ({ serial: string(), serial2: string(), rfidTag: string(), reference: string() });

const adjustmentShape = () => ({ spot: string(), ...lotFilterShape(), remark: string(), netWeight: decimal() });

/** Only the documented fields are allowed: the service would silently ignore a misspelled one. */
export const receiveInputSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...itemQuantityShape(),
    reasonCode: integer(),
    ...optionalFields({
      ...adjustmentShape(),
      grossWeight: decimal(),
      price: decimal(),
      expires: dateInputSchema(),
      supplier: integer(),
      line: integer(),
      jobid: integer(),
    }),
  }),
);

export const moveInputSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      ...itemQuantityShape(),
      ...optionalFields({
        fromSpot: string(),
        toSpot: string(),
        shipToWid: integer(),
        transitSlip: string(),
        ...lotFilterShape(),
        recno: integer(),
        received: dateFilterSchema(),
      }),
    })
    .refine(({ toSpot = "", shipToWid, wid }) => toSpot.trim() !== "" || (shipToWid ?? wid) !== wid, {
      path: ["toSpot"],
      error: "is required unless shipToWid is another warehouse: a move needs a destination",
      when: ({ issues }) => issues.length === 0,
    }),
);

export const issueInputSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...itemQuantityShape(),
    reasonCode: integer(),
    ...optionalFields({ ...adjustmentShape(), shipto: integer(), prodID: string(), recno: integer(), line: integer() }),
  }),
);

true satisfies SameShape<ReceiveInput, typeof receiveInputSchema>;
true satisfies SameShape<MoveInput, typeof moveInputSchema>;
true satisfies SameShape<IssueInput, typeof issueInputSchema>;
