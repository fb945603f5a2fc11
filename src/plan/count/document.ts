import type { IssueInput, ReceiveInput } from "../../client/index.js";
import type { PlanHead } from "../document.js";
import type { BookLot, CountGroup } from "./group.js";

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
  /** Groups of the snapshot (lines of its sheet) that no row counts. They stay as they are. */
  notCounted: number;
  /**
   * Record numbers since the snapshot, up to the highest known number, that no listed lot has. Their lots came and were
   * used up, or left the client's warehouses. `null` if the service cannot list the lots that were modified since.
   */
  missingRecNos: number | null;
}

export interface CountPlanContent extends PlanHead<"count"> {
  /** Warehouse ID. */
  wid: number;
  /** Whether lots that were modified since the snapshot were noticed, whatever they look like now. */
  noticesReturns: boolean;
  counts: CountPlanCounts;
  changes: CountChange[];
  blocked: BlockedGroup[];
}
