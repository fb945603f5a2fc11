import * as z from "zod";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient } from "../../client/index.js";
import { checkMethodOptions, lazy } from "../../shared/schema.js";
import { assertSameAccount } from "../../storage/service.js";
import { Plan } from "../plan.js";
import { commonOptions } from "../reader.js";
import type { PlanApplyOptions } from "../report.js";
import { ItemPlanApplication, type ItemPlanReport, requestsForItemPlan } from "./apply.js";
import type { ItemChange, ItemPlanContent, ItemPlanCounts, ReportedItem } from "./document.js";
import { itemPlanText } from "./text.js";

const itemApplyOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject(commonOptions()));

/**
 * The writes that bring the catalog to the desired state. Created by `planItems` or `readPlan`. `JSON.stringify(plan)`
 * is its document: a person may review it, and another process may apply it.
 * @experimental
 */
export class ItemPlan extends Plan<ItemPlanCounts, ItemChange, ReportedItem> {
  /** The kind of the plan. */
  readonly kind = "items";
  readonly #content: ItemPlanContent;

  /** @internal */
  constructor(content: ItemPlanContent, client?: InventoryClient) {
    super(content, { requests: requestsForItemPlan(content), textOf: (limit) => itemPlanText(content, limit), client });
    this.#content = content;
  }

  /**
   * Sends the writes. Each item is read right before its write. If the item is as desired, it counts as applied, no
   * matter who wrote it. If the item has changed since the plan, it is `stale` and is not written.
   *
   * After a crash or a failure, apply the plan again: reading the items shows what was written. If the service keeps a
   * value in another form, its item is `stale`: make a new plan.
   *
   * @throws ConfigurationError if the plan belongs to another service.
   * @throws InputValidationError if an option is wrong or missing.
   * @throws what the client throws if a failure concerns all writes, such as a lost connection, or if five different
   * items in a row fail with the same status. Apply the plan again then.
   * @throws the reason of the `signal`.
   */
  async apply(options: PlanApplyOptions): Promise<ItemPlanReport> {
    const given = checkMethodOptions("plan.apply", itemApplyOptionsSchema, options);
    assertSameAccount({ method: "plan.apply", noun: "plan" }, this.#content.service, accountOf(given.client));
    given.signal?.throwIfAborted();
    return new ItemPlanApplication(this.#content, given).apply();
  }
}
