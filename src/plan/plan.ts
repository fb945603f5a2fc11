import * as z from "zod";
import { durationOf, requestsForList } from "../client/for-add-ons.js";
import type { InventoryClient } from "../client/index.js";
import { checkInput, checkMethodOptions } from "../shared/check.js";
import { integer, lazy } from "../shared/field.js";
import { applyOptionsSchema, type PlanApplyOptions, type PlanReport } from "./apply/options.js";
import { applyCountPlan } from "./count/apply.js";
import {
  type BlockedGroup,
  type CountChange,
  type CountPlanContent,
  type CountPlanCounts,
  countPlanSchema,
  type ReportedGroup,
  type StoredQuantity,
} from "./count/document.js";
import { countPlanText } from "./count/text.js";
import { assertDocumentOf, deepFreeze, parseDocument, withDigest } from "./document.js";
import { applyItemPlan } from "./items/apply.js";
import type { StoredForm } from "./items/compare.js";
import {
  type ItemChange,
  type ItemPlanContent,
  type ItemPlanCounts,
  itemPlanSchema,
  type ReportedItem,
} from "./items/document.js";
import { itemPlanText } from "./items/text.js";
import { REQUESTS_PER_SEARCH } from "./stock-levels.js";

/** Requests and time that applying a plan takes. */
export interface PlanEstimate {
  /** Requests: the writes, reading the present state again, and a few more. */
  requests: number;
  /** Estimated duration, in ms. */
  durationMs: number;
}

/** `items`: the catalog as it should be, see {@link planItems}. `count`: a stock count, see {@link planCount}. */
export type PlanKind = "items" | "count";

/** What a plan contains, by its kind. */
export interface PlanParts {
  /** The catalog as it should be. */
  items: {
    /** How many items it changes. */
    counts: ItemPlanCounts;
    /** An element of `changes`. */
    change: ItemChange;
    /** An element of `blocked`. */
    blocked: ReportedItem;
    /** What {@link Plan.apply} returns. */
    report: PlanReport<ReportedItem, StoredForm>;
  };
  /** A stock count. */
  count: {
    /** How many groups it changes. */
    counts: CountPlanCounts;
    /** An element of `changes`. */
    change: CountChange;
    /** An element of `blocked`. */
    blocked: BlockedGroup;
    /** What {@link Plan.apply} returns. */
    report: PlanReport<ReportedGroup, StoredQuantity>;
  };
}

interface PlanContents {
  items: ItemPlanContent;
  count: CountPlanContent;
}

/** What depends on the kind of a plan. */
interface PlanMethods<Kind extends PlanKind> {
  text(content: PlanContents[Kind], limit: number): string;
  countRequests(content: PlanContents[Kind]): number;
  apply(content: PlanContents[Kind], options: PlanApplyOptions): Promise<PlanParts[Kind]["report"]>;
}

const ITEM_PLAN: PlanMethods<"items"> = {
  text: itemPlanText,
  countRequests: ({ changes, items }) =>
    changes.length + 2 * Math.min(changes.length, requestsForList(items)) + Math.sign(changes.length),
  apply: applyItemPlan,
};

const COUNT_PLAN: PlanMethods<"count"> = {
  text: countPlanText,
  countRequests: ({ changes }) =>
    changes.reduce((sum, { writes }) => sum + writes.length, 0) +
    2 * REQUESTS_PER_SEARCH * new Set(changes.map(({ itemID }) => itemID)).size,
  apply: applyCountPlan,
};

const textOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ limit: integer().min(0).optional() }));

/** A shared limit of 100 requests per minute, a tenth of which is reserved. */
const DOCUMENTED_ALLOWANCE = { available: 90, share: 90, intervalMs: 60_000, pausedMs: 0 };

/**
 * The writes that make the service as it should be. Created by {@link planItems}, {@link planCount} or {@link readPlan}.
 * `JSON.stringify(plan)` is its document: a person may review it, and another process may apply it.
 * @experimental
 */
export class Plan<Kind extends PlanKind = PlanKind> {
  /** What is planned. */
  readonly kind: Kind;
  readonly #content: PlanContents[Kind];
  readonly #methods: PlanMethods<Kind>;
  readonly #client: InventoryClient | undefined;

  /** @internal */
  constructor(kind: Kind, content: PlanContents[Kind], methods: PlanMethods<Kind>, client?: InventoryClient) {
    this.kind = kind;
    this.#content = deepFreeze(content);
    this.#methods = methods;
    this.#client = client;
  }

  /** Random name of the plan. */
  get id(): string {
    return this.#content.id;
  }

  /** When the service was read: ISO 8601 in UTC. */
  get plannedAt(): string {
    return this.#content.plannedAt;
  }

  /** How many items or groups the plan changes, and leaves alone. */
  get counts(): PlanParts[Kind]["counts"] {
    return { ...this.#content.counts };
  }

  /**
   * What will be written. Of items: updates in the order of the catalog, creates in that of the source, then what is
   * discontinued. Of a stock count: the groups in the order of the rows.
   */
  get changes(): readonly PlanParts[Kind]["change"][] {
    return this.#content.changes;
  }

  /** What needs a change that the plan cannot make, each with the reason. */
  get blocked(): readonly PlanParts[Kind]["blocked"][] {
    return this.#content.blocked;
  }

  /** True if there is nothing to write. What is blocked does not count. */
  get isEmpty(): boolean {
    return this.#content.changes.length === 0;
  }

  /**
   * The plan for people, like a diff. Of items: `+` create, `~` update with old and new values, `-` discontinue, `!` blocked.
   * Of a stock count: `+` receive, `-` issue, `!` blocked, each with book quantity, counted quantity and lots.
   * `limit`: how many items or groups of each are shown; default all.
   */
  toText(options: { limit?: number | undefined } = {}): string {
    checkInput("plan.toText", textOptionsSchema, options, [], { noun: "option" });
    return this.#methods.text(this.#content, options.limit ?? Infinity);
  }

  /**
   * Estimates what {@link apply} costs, within the rate limit of the client that made the plan; of a plan that was read,
   * within the documented limit. It sends no request.
   */
  estimate(): PlanEstimate {
    const requests = this.#methods.countRequests(this.#content);
    const allowance = this.#client?.bulkAllowance ?? DOCUMENTED_ALLOWANCE;
    return { requests, durationMs: durationOf(requests, allowance) };
  }

  /**
   * Sends the writes. What a write concerns is read again before: an item that already is as desired counts as applied,
   * no matter who wrote it; what is no longer as it was at the time of the plan is `stale` and is not written.
   *
   * With an outbox, the writes survive crashes: apply the same plan again with the same outbox to continue. Other entries
   * of the outbox are sent along. Unsent entries of other plans are canceled first, if they are for the same items, or older
   * than ten minutes; a write of theirs that was under way when a process died may be resent unread.
   *
   * Without an outbox, which a stock count requires, apply the plan again after a failure: what was written counts as
   * applied. If the service keeps it in another form, it is `stale`: make a new plan.
   *
   * @throws ConfigurationError if the plan belongs to another service, or if the outbox has no client.
   * @throws InputValidationError if an option is wrong or missing.
   * @throws what `outbox.run` throws if a failure concerns all writes, such as a lost connection. Apply the plan again then.
   * @throws the reason of the `signal`; a `DOMException` named `AbortError` if the outbox is closed.
   */
  async apply(options: PlanApplyOptions): Promise<PlanParts[Kind]["report"]> {
    checkMethodOptions("plan.apply", applyOptionsSchema, options);
    const { client, outbox } = options;
    // Before anything is stored.
    outbox?.requireClient("plan.apply");
    for (const user of outbox ? [client, outbox] : [client]) {
      assertDocumentOf({ method: "plan.apply", noun: "plan" }, this.#content, user);
    }
    // To close the outbox ends it, too, whether the outbox runs at that moment or not.
    const signal = AbortSignal.any([options.signal, outbox?.closed].filter((one) => one != null));
    signal.throwIfAborted();
    return await this.#methods.apply(this.#content, { ...options, signal });
  }

  /** The document of the plan, for `JSON.stringify`. */
  toJSON(): object {
    return withDigest(this.#content);
  }
}

export const itemPlan = (content: ItemPlanContent, client?: InventoryClient): Plan<"items"> =>
  new Plan("items", content, ITEM_PLAN, client);

export const countPlan = (content: CountPlanContent, client?: InventoryClient): Plan<"count"> =>
  new Plan("count", content, COUNT_PLAN, client);

const planSchema = /* @__PURE__ */ lazy(() => z.discriminatedUnion("kind", [itemPlanSchema(), countPlanSchema()]));

/**
 * Restores a plan from its JSON, as a string or parsed.
 *
 * @throws ConfigurationError if it is not a plan, or was changed. Spaces and line breaks do not matter.
 */
export function readPlan(json: unknown): Plan<"items"> | Plan<"count"> {
  const content = parseDocument({ method: "readPlan", noun: "plan", schema: planSchema }, json);
  return content.kind === "items" ? itemPlan(content) : countPlan(content);
}
