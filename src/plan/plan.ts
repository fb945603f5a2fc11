import * as z from "zod";
import type { InventoryClient } from "../client.js";
import { forecastDurationMs } from "../paging/estimate.js";
import { checkInput } from "../schemas/check.js";
import { integer, lazy } from "../schemas/field.js";
import { MAX_PAGE_SIZE } from "../service/lists.js";
import { applyPlan } from "./apply/apply.js";
import type { PlanApplyOptions, PlanReport } from "./apply/options.js";
import {
  type BlockedItem,
  digestOf,
  type ItemChange,
  type PlanContent,
  type PlanCounts,
  parsePlan,
} from "./document.js";
import { planText } from "./text.js";

/** Requests and time that applying a plan takes. */
export interface PlanEstimate {
  /** Requests: the writes, reading the items again before and after, and a few more. */
  requests: number;
  /** Estimated duration, in ms. */
  durationMs: number;
}

const textOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ limit: integer().min(0).optional() }));

/** A shared limit of 100 requests per minute, a tenth of which is reserved. */
const DOCUMENTED_ALLOWANCE = { available: 90, share: 90, intervalMs: 60_000, pausedMs: 0 };

/**
 * The writes that make the catalog as it should be. Created by {@link planItems} or {@link readPlan}. `JSON.stringify(plan)`
 * is its document: a person may review it, and another process may apply it.
 */
export class Plan {
  readonly #content: PlanContent;
  readonly #client: InventoryClient | undefined;

  /** @internal */
  constructor(content: PlanContent, client?: InventoryClient) {
    this.#content = deepFreeze(content);
    this.#client = client;
  }

  /** Random name of the plan. */
  get id(): string {
    return this.#content.id;
  }

  /** When the catalog was read: ISO 8601 in UTC. */
  get plannedAt(): string {
    return this.#content.plannedAt;
  }

  /** How many items the plan creates, updates, discontinues and leaves alone. */
  get counts(): PlanCounts {
    return { ...this.#content.counts };
  }

  /** The writes: creates and updates in the order of the source, then what is discontinued. */
  get changes(): readonly ItemChange[] {
    return this.#content.changes;
  }

  /** Items that need a change that the plan cannot make, each with the reason. */
  get blocked(): readonly BlockedItem[] {
    return this.#content.blocked;
  }

  /** True if there is nothing to write. Blocked items do not count. */
  get isEmpty(): boolean {
    return this.#content.changes.length === 0;
  }

  /**
   * The plan for people, like a diff: `+` create, `~` update with old and new values, `-` discontinue, `!` blocked.
   * `limit`: how many items of each group are shown; default all.
   */
  toText(options: { limit?: number | undefined } = {}): string {
    checkInput("plan.toText", textOptionsSchema, options, [], { noun: "option" });
    return planText(this.#content, options.limit ?? Infinity);
  }

  /**
   * Estimates what {@link apply} costs, within the rate limit of the client that made the plan; of a plan that was read,
   * within the documented limit. It sends no request.
   */
  estimate(): PlanEstimate {
    const { changes, items } = this.#content;
    const pages = Math.ceil((items * 1.1) / MAX_PAGE_SIZE);
    const requests = changes.length === 0 ? 0 : changes.length + 2 * Math.min(changes.length, pages) + 1;
    const allowance = this.#client?.bulkAllowance ?? DOCUMENTED_ALLOWANCE;
    return { requests, durationMs: forecastDurationMs(requests, 0, allowance) };
  }

  /**
   * Sends the writes. Each item is read again before its write: one that already is as desired counts as applied,
   * no matter who wrote it; one that is no longer as it was at the time of the plan is `stale` and is not written.
   *
   * With an outbox, the writes survive crashes: apply the same plan again with the same outbox to continue. Other pending
   * entries of the outbox are sent along. Unsent entries of other plans for the same items are canceled first. Without an
   * outbox, apply the plan again, or make a new one.
   *
   * @throws ConfigurationError if the plan belongs to another service.
   * @throws what `outbox.run` throws if a failure concerns all writes, such as a lost connection. Apply the plan again then.
   * @throws the reason of the `signal`.
   */
  apply(options: PlanApplyOptions): Promise<PlanReport> {
    return applyPlan(this.#content, options);
  }

  /** The document of the plan, for `JSON.stringify`. */
  toJSON(): object {
    return { ...this.#content, digest: digestOf(this.#content) };
  }
}

/** What is applied is what was reviewed. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/**
 * Restores a plan from its JSON, as a string or parsed.
 *
 * @throws ConfigurationError if it is not a plan, or was changed. Spaces and line breaks do not matter.
 */
export function readPlan(json: unknown): Plan {
  return new Plan(parsePlan(json));
}
