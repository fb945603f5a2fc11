import * as z from "zod";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient } from "../../client/index.js";
import type { Outbox } from "../../outbox/for-rooms.js";
import { objectWithMethodsSchema } from "../../shared/option.js";
import { checkMethodOptions, lazy } from "../../shared/schema.js";
import { assertSameAccount } from "../../storage/service.js";
import { Plan } from "../plan.js";
import { commonOptions } from "../reader.js";
import type { PlanApplyOptions } from "../report.js";
import { CountApplication, type CountPlanReport } from "./apply.js";
import type { BlockedGroup, CountChange, CountPlanContent, CountPlanCounts } from "./document.js";
import { countPlanText } from "./text.js";

/** Options of `plan.apply` of a stock count. */
export interface CountPlanApplyOptions extends PlanApplyOptions {
  /** The outbox that sends the writes. It needs a client of the same service. */
  outbox: Outbox;
}

const countApplyOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...commonOptions(),
    outbox: objectWithMethodsSchema<Outbox>(["whileSender"], "must be an Outbox"),
  }),
);

/** Usually, finding the lots of one item takes at most this many requests. */
const REQUESTS_PER_ITEM = 5;

function requestsForCount({ changes }: CountPlanContent): number {
  const writes = changes.reduce((sum, change) => sum + change.writes.length, 0);
  return writes + REQUESTS_PER_ITEM * new Set(changes.map(({ itemID }) => itemID)).size;
}

/**
 * The receives and issues of a stock count. Created by `planCount` or `readPlan`. `JSON.stringify(plan)` is its
 * document: a person may review it, and another process may apply it.
 * @experimental
 */
export class CountPlan extends Plan<CountPlanCounts, CountChange, BlockedGroup> {
  /** The kind of the plan. */
  readonly kind = "count";
  readonly #content: CountPlanContent;

  /** @internal */
  constructor(content: CountPlanContent, client?: InventoryClient) {
    super(content, { requests: requestsForCount(content), textOf: (limit) => countPlanText(content, limit), client });
    this.#content = content;
  }

  /**
   * Sends the writes, item by item, as the sender of the outbox. While another process sends, the call waits. Before
   * the writes of an item, its lots are read. If they are no longer the lots of the plan, or if the outbox has an open
   * entry of the item, its groups are `stale`. Writes are sent only during this call, at most ten minutes after the
   * reading.
   *
   * After a crash, apply the plan again with the same outbox. A group whose writes were added before is only reported.
   * All writes of the warehouse must go through this one outbox.
   *
   * @throws ConfigurationError if the plan belongs to another service, or if the outbox has no client.
   * @throws InputValidationError if an option is wrong or missing.
   * @throws what the client throws if a failure concerns all writes, such as a lost connection. Then apply again.
   * @throws the reason of the `signal`; a `DOMException` named `AbortError` if the outbox is closed.
   */
  async apply(options: CountPlanApplyOptions): Promise<CountPlanReport> {
    const given = checkMethodOptions("plan.apply", countApplyOptionsSchema, options);
    const { client, outbox, signal } = given;
    const name = { method: "plan.apply", noun: "plan" } as const;
    assertSameAccount(name, this.#content.service, accountOf(client));
    if (outbox.service) assertSameAccount(name, this.#content.service, outbox.service);
    signal?.throwIfAborted();
    return new CountApplication(this.#content, given).apply();
  }
}
