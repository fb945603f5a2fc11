import * as z from "zod";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient } from "../../client/index.js";
import { checkMethodOptions, lazy } from "../../shared/schema.js";
import { assertSameAccount } from "../../storage/service.js";
import { deepFreeze, withDigest } from "../document.js";
import {
  applyOptionsShape,
  estimateOf,
  type PlanApplyOptions,
  type PlanEstimate,
  textOptionsSchema,
} from "../report.js";
import { applyItemPlan, type ItemPlanReport, requestsOf } from "./apply.js";
import type { ItemChange, ItemPlanContent, ItemPlanCounts, ReportedItem } from "./document.js";
import { itemPlanText } from "./text.js";

const applyOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject(applyOptionsShape()));

/**
 * The writes that make the catalog as it should be. Created by `planItems` or `readPlan`. `JSON.stringify(plan)` is its
 * document: a person may review it, and another process may apply it.
 * @experimental
 */
export class ItemPlan {
  /** What is planned. */
  readonly kind = "items";
  /** Random name of the plan. */
  readonly id: string;
  /** When the service was read: ISO 8601 in UTC. */
  readonly plannedAt: string;
  /** How many items the plan changes, and leaves alone. */
  readonly counts: ItemPlanCounts;
  /** What will be written: creates in the order of the source, updates in that of the catalog, then what is discontinued. */
  readonly changes: readonly ItemChange[];
  /** What needs a change that the plan cannot make, each with the reason. */
  readonly blocked: readonly ReportedItem[];
  readonly #content: ItemPlanContent;
  readonly #client: InventoryClient | undefined;

  /** @internal */
  constructor(content: ItemPlanContent, client?: InventoryClient) {
    this.#content = deepFreeze(content);
    this.#client = client;
    this.id = content.id;
    this.plannedAt = content.plannedAt;
    this.counts = content.counts;
    this.changes = content.changes;
    this.blocked = content.blocked;
  }

  /** True if there is nothing to write. What is blocked does not count. */
  get isEmpty(): boolean {
    return this.changes.length === 0;
  }

  /**
   * The plan for people, like a diff: `+` create, `~` update with old and new values, `-` discontinue, `!` blocked. `limit`: how
   * many items of each are shown; default all.
   */
  toText(options: { limit?: number | undefined } = {}): string {
    const { limit = Infinity } = checkMethodOptions("plan.toText", textOptionsSchema, options);
    return itemPlanText(this.#content, limit);
  }

  /**
   * Estimates what {@link apply} costs, within the rate limit of the client that made the plan; of a plan that was read,
   * within the documented limit. It sends no request.
   */
  estimate(): PlanEstimate {
    return estimateOf(requestsOf(this.#content), this.#client);
  }

  /**
   * Sends the writes. Each item is read right before its write: one that is as desired counts as applied, no matter who wrote
   * it; one that is no longer as it was at the time of the plan is `stale` and is not written.
   *
   * After a crash or a failure, apply the plan again: reading the items shows what was written. If the service keeps it in
   * another form, it is `stale`: make a new plan.
   *
   * @throws ConfigurationError if the plan belongs to another service.
   * @throws InputValidationError if an option is wrong or missing.
   * @throws what the client throws if a failure concerns all writes, such as a lost connection, or if five different items in a
   * row fail with the same status. Apply the plan again then.
   * @throws the reason of the `signal`.
   */
  async apply(options: PlanApplyOptions): Promise<ItemPlanReport> {
    const given = checkMethodOptions("plan.apply", applyOptionsSchema, options);
    assertSameAccount({ method: "plan.apply", noun: "plan" }, this.#content.service, accountOf(given.client));
    given.signal?.throwIfAborted();
    return applyItemPlan(this.#content, given);
  }

  /** The document of the plan, for `JSON.stringify`. */
  toJSON(): object {
    return withDigest(this.#content);
  }
}
