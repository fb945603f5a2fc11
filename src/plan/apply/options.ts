import * as z from "zod";
import type { InventoryClient } from "../../client.js";
import type { Outbox } from "../../outbox/outbox.js";
import { lazy } from "../../schemas/field.js";
import { abortSignalSchema, functionSchemaOf, objectWithMethodsSchema, requiredOption } from "../../schemas/option.js";
import type { StoredForm } from "../items/compare.js";

/** Options of `plan.apply`. */
export interface PlanApplyOptions {
  /** The client that reads the items again. Without an outbox, it also sends the writes. */
  client: InventoryClient;
  /**
   * The outbox that sends the writes. It needs a client of the same service.
   * @default none: the writes are sent directly, and do not survive the process
   */
  outbox?: Outbox | undefined;
  /**
   * Ends the application. It waits for the requests in flight, then rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each item. An error is ignored.
   * @default none
   */
  onProgress?: ((progress: PlanApplyProgress) => unknown) | undefined;
}

/** The progress of `plan.apply`. */
export interface PlanApplyProgress {
  /** Items that are done: applied, stale, rejected or unknown. */
  done: number;
  /** Items that the plan changes. */
  total: number;
}

/** An item of a report, and why it is in it. */
export interface ReportedItem {
  /** SKU of the item. */
  shortID: string;
  /** The reason, for people. */
  reason: string;
}

/** What `plan.apply` did. */
export interface PlanReport {
  /** Items that are as desired now, no matter who wrote them. */
  applied: number;
  /** Items that somebody changed since the plan. They were not written. */
  stale: ReportedItem[];
  /** Items whose write the service refused, or that could not be sent. */
  rejected: ReportedItem[];
  /** Items whose write may or may not have been applied. A person must decide about them, see `outbox.resolve`. */
  unknown: ReportedItem[];
  /** Values that the service keeps in another form. Pass them as `ignoreStoredForms`, or they are planned again. */
  storedDifferently: StoredForm[];
  /** Requests sent, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
}

export const applyOptionsSchema = lazy(() =>
  z.strictObject({
    client: requiredOption(objectWithMethodsSchema(["request", "paginate"], "must be an InventoryClient")),
    outbox: objectWithMethodsSchema(["addMany", "run", "cancel"], "must be an Outbox").optional(),
    signal: abortSignalSchema().optional(),
    onProgress: functionSchemaOf<(progress: PlanApplyProgress) => unknown>().optional(),
  }),
);
