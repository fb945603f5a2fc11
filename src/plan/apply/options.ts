import * as z from "zod";
import type { InventoryClient } from "../../client/index.js";
import type { Outbox } from "../../outbox/outbox.js";
import { lazy } from "../../shared/field.js";
import {
  abortSignalSchema,
  functionSchemaOf,
  inventoryClientSchema,
  objectWithMethodsSchema,
  requiredOption,
} from "../../shared/option.js";
import type { StoredForm } from "../items/compare.js";
import type { ReportedItem } from "../items/document.js";

/** Options of `plan.apply`. */
export interface PlanApplyOptions {
  /** The client that reads the present state again. Without an outbox, it also sends the writes. */
  client: InventoryClient;
  /**
   * The outbox that sends the writes. It needs a client of the same service. Required for a stock count.
   * @default none: the writes are sent directly, and do not survive the process
   */
  outbox?: Outbox | undefined;
  /**
   * Ends the application. It waits for the requests in flight, then rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each change. An error is ignored.
   * @default none
   */
  onProgress?: ((progress: PlanApplyProgress) => unknown) | undefined;
}

/** The progress of `plan.apply`. */
export interface PlanApplyProgress {
  /** Changes that are done: applied, stale, rejected or unknown. */
  done: number;
  /** Changes of the plan. */
  total: number;
}

/** What `plan.apply` did. */
export interface PlanReport<Reported = ReportedItem, Stored = StoredForm> {
  /** Changes whose writes were applied, and items that were found to be as desired, no matter who wrote them. */
  applied: number;
  /** What somebody changed since the plan. It was not written. */
  stale: Reported[];
  /** What the service refused, or what could not be sent. */
  rejected: Reported[];
  /** What may or may not have been applied. A person must decide about it, see `outbox.resolve`. */
  unknown: Reported[];
  /**
   * Values that the service keeps in another form. Pass them as `ignoreStoredForms`, or they are planned again. Of a stock
   * count: groups whose stock is not what was counted after it was written. Count them again.
   */
  storedDifferently: Stored[];
  /** Requests sent, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
}

/** Those that applying a plan calls. */
const OUTBOX_METHODS = [
  "requireClient",
  "addMarked",
  "get",
  "entries",
  "withdraw",
  "runWithin",
] as const satisfies readonly (keyof Outbox)[];

export const applyOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    client: requiredOption(inventoryClientSchema()),
    outbox: objectWithMethodsSchema([...OUTBOX_METHODS], "must be an Outbox").optional(),
    signal: abortSignalSchema().optional(),
    onProgress: functionSchemaOf<(progress: PlanApplyProgress) => unknown>().optional(),
  }),
);
