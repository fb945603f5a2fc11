import * as z from "zod";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient } from "../../client/index.js";
import type { Outbox } from "../../outbox/for-rooms.js";
import { objectWithMethodsSchema } from "../../shared/option.js";
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
import { applyCountPlan, type CountPlanReport } from "./apply.js";
import type { BlockedGroup, CountChange, CountPlanContent, CountPlanCounts } from "./document.js";
import { countPlanText } from "./text.js";

/** Options of `plan.apply` of a stock count. */
export interface CountPlanApplyOptions extends PlanApplyOptions {
  /** The outbox that sends the writes. It needs a client of the same service. */
  outbox: Outbox;
}

const applyOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...applyOptionsShape(),
    outbox: objectWithMethodsSchema<Outbox>(["hold"], "must be an Outbox"),
  }),
);

/** To find the lots of one item usually costs at most this many requests. */
const REQUESTS_PER_ITEM = 5;

/**
 * The receives and issues of a stock count. Created by `planCount` or `readPlan`. `JSON.stringify(plan)` is its document: a
 * person may review it, and another process may apply it.
 * @experimental
 */
export class CountPlan {
  /** What is planned. */
  readonly kind = "count";
  /** Random name of the plan. */
  readonly id: string;
  /** When the service was read: ISO 8601 in UTC. */
  readonly plannedAt: string;
  /** How many groups the plan corrects, and leaves alone. */
  readonly counts: CountPlanCounts;
  /** The groups that will be corrected, in the order of the rows. */
  readonly changes: readonly CountChange[];
  /** The groups that cannot be corrected, each with the reason. */
  readonly blocked: readonly BlockedGroup[];
  readonly #content: CountPlanContent;
  readonly #client: InventoryClient | undefined;

  /** @internal */
  constructor(content: CountPlanContent, client?: InventoryClient) {
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
   * The plan for people, like a diff: `+` receive, `-` issue, `!` blocked, each with book quantity, counted quantity and lots.
   * `limit`: how many groups of each are shown; default all.
   */
  toText(options: { limit?: number | undefined } = {}): string {
    const { limit = Infinity } = checkMethodOptions("plan.toText", textOptionsSchema, options);
    return countPlanText(this.#content, limit);
  }

  /**
   * Estimates what {@link apply} costs, within the rate limit of the client that made the plan; of a plan that was read,
   * within the documented limit. It sends no request.
   */
  estimate(): PlanEstimate {
    const { changes } = this.#content;
    const writes = changes.reduce((sum, change) => sum + change.writes.length, 0);
    return estimateOf(writes + REQUESTS_PER_ITEM * new Set(changes.map(({ itemID }) => itemID)).size, this.#client);
  }

  /**
   * Sends the writes, item by item, as the sender of the outbox: while another process sends, it waits. The lots of the item
   * are read right before; if they are no longer those of the plan, or the outbox has something open for the item, its groups
   * are `stale`. The writes are sent only while this call runs, at most ten minutes after the reading.
   *
   * After a crash, apply the plan again with the same outbox: a group whose writes were added is not written again, but
   * reported. All writes of the warehouse must go through this one outbox.
   *
   * @throws ConfigurationError if the plan belongs to another service, or if the outbox has no client.
   * @throws InputValidationError if an option is wrong or missing.
   * @throws what the client throws if a failure concerns all writes, such as a lost connection. Apply the plan again then.
   * @throws the reason of the `signal`; a `DOMException` named `AbortError` if the outbox is closed.
   */
  async apply(options: CountPlanApplyOptions): Promise<CountPlanReport> {
    const given = checkMethodOptions("plan.apply", applyOptionsSchema, options);
    const { client, outbox, signal } = given;
    const name = { method: "plan.apply", noun: "plan" } as const;
    assertSameAccount(name, this.#content.service, accountOf(client));
    if (outbox.service) assertSameAccount(name, this.#content.service, outbox.service);
    signal?.throwIfAborted();
    return applyCountPlan(this.#content, given);
  }

  /** The document of the plan, for `JSON.stringify`. */
  toJSON(): object {
    return withDigest(this.#content);
  }
}
