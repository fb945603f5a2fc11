import type { PlanHead } from "../document.js";
import type { StoredForm } from "./compare.js";

/** A write of a plan. */
export interface ItemChange {
  /** The method of `client.items` that is called. */
  operation: "create" | "update" | "discontinue";
  /** SKU of the item. */
  shortID: string;
  /** For a discontinue: the item has no row. It is discontinued only if every create of the plan was applied. */
  isAbsent?: boolean;
  /**
   * The fields by name. A create has all fields of the row, an update the fields that change, and a discontinue all
   * fields of the item except `modified`, though only `discontinued` changes.
   */
  fields: Record<
    string,
    {
      /** The value at the time of the plan; `null` in a create. */
      before: unknown;
      /** The desired value. */
      after: unknown;
    }
  >;
}

/** An item that a plan or a report names, and why. */
export interface ReportedItem {
  /** SKU of the item. */
  shortID: string;
  /** The reason, for people. */
  reason: string;
}

/** How many items a plan creates, updates, discontinues and leaves alone. */
export interface ItemPlanCounts {
  /** Items that will be created. */
  create: number;
  /** Items that will be updated. */
  update: number;
  /** Items that will be discontinued. */
  discontinue: number;
  /** Rows whose items are as desired. */
  unchanged: number;
  /** Items that need a change that the plan cannot make, see `plan.blocked`. */
  blocked: number;
}

export interface ItemPlanContent extends PlanHead<"items"> {
  /** How many items the service listed, including discontinued items. */
  items: number;
  /** How many requests read the stock levels of the items to discontinue, not counting requests for these items. */
  levelRequests: number;
  /** Whether items with stock may be discontinued. */
  withStock: boolean;
  counts: ItemPlanCounts;
  changes: ItemChange[];
  blocked: ReportedItem[];
  /** The stored forms that counted as equal to the desired values. */
  storedForms: StoredForm[];
}
