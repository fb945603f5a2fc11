import * as z from "zod";
import { WRITES } from "../../service/operations.js";
import type { IssueInput, ReceiveInput } from "../../service/transaction.js";
import { integer, lazy, string } from "../../shared/field.js";
import { type PlanHead, planHeadShape } from "../document.js";
import { type BookLot, bookLotSchema, type CountGroup } from "./group.js";

/** A group whose count differs from its book quantity, and how it is corrected. */
export interface CountChange extends CountGroup {
  /** `receive`: more was counted than is in the books. `issue`: less. */
  operation: "receive" | "issue";
  /** Quantity by the lots of the service, in the item's unit of measure. */
  book: number;
  /** Quantity that was counted, in the item's unit of measure. */
  counted: number;
  /** Quantity that is received or issued: the difference, in the item's unit of measure. */
  units: number;
  /** Unit of measure of all quantities. */
  uOM: string;
  /** The lots of the group, the oldest first. */
  lots: readonly BookLot[];
  /** The writes: one receive, or an issue of each lot that is taken from. */
  writes: readonly (IssueInput | ReceiveInput)[];
}

/** A group that a report names, and why. */
export interface ReportedGroup extends CountGroup {
  /** The reason, for people. */
  reason: string;
}

/** A group whose count cannot be booked. */
export interface BlockedGroup extends ReportedGroup {
  /** Quantity by the lots of the service, in the item's unit of measure. */
  book: number;
  /** Quantity that was counted, in the item's unit of measure. */
  counted: number;
  /** The lots of the group, the oldest first. */
  lots: readonly BookLot[];
}

/** A group that does not equal its count after it was written: the service has stored something else, or somebody has booked since. */
export interface StoredQuantity {
  /** SKU of the item. */
  shortID: string;
  /** Bin; a missing one means all. */
  spot?: string;
  /** Serial number; a missing one means all. */
  serial?: string;
  /** What differs. */
  field: "units";
  /** Quantity that was counted, in the item's unit of measure. */
  sent: number;
  /** Quantity by the lots of the service, in the same unit of measure. */
  stored: number;
}

/** How many groups a count corrects and leaves alone. */
export interface CountPlanCounts {
  /** Groups with a surplus. */
  receive: number;
  /** Groups with a shortage. */
  issue: number;
  /** Groups whose count equals their book quantity. */
  unchanged: number;
  /** Groups that cannot be corrected, see `plan.blocked`. */
  blocked: number;
}

/** What the plan of a stock count contains. */
export interface CountPlanContent extends PlanHead<"count"> {
  /** Warehouse ID. */
  wid: number;
  /** Whether lots that were moved away and back were noticed. */
  noticesReturns: boolean;
  counts: CountPlanCounts;
  changes: CountChange[];
  blocked: BlockedGroup[];
}

const groupShape = () => ({ itemID: string(), spot: string().exactOptional(), serial: string().exactOptional() });

export const countPlanSchema = /* @__PURE__ */ lazy(() => {
  const quantities = { book: z.number(), counted: z.number(), lots: z.array(bookLotSchema()) };
  return z.strictObject({
    ...planHeadShape("count"),
    wid: integer(),
    noticesReturns: z.boolean(),
    counts: z.strictObject({ receive: integer(), issue: integer(), unchanged: integer(), blocked: integer() }),
    changes: z.array(
      z.strictObject({
        ...groupShape(),
        operation: z.enum(["receive", "issue"]),
        ...quantities,
        units: z.number(),
        uOM: string(),
        writes: z.array(z.union([WRITES.receive.input(), WRITES.issue.input()])),
      }),
    ),
    blocked: z.array(z.strictObject({ ...groupShape(), ...quantities, reason: string() })),
  });
});
