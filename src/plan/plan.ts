import * as z from "zod";
import { durationOf } from "../client/for-add-ons.js";
import type { InventoryClient } from "../client/index.js";
import { checkMethodOptions, integer, lazy } from "../shared/schema.js";
import { deepFreeze, type PlanHead, withDigest } from "./document.js";
import type { PlanEstimate } from "./report.js";

/** A shared limit of 100 requests per minute, a tenth of which is reserved. */
const DOCUMENTED_ALLOWANCE = { available: 90, share: 90, intervalMs: 60_000, pausedMs: 0 };

const textOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ limit: integer().min(0).optional() }));

/** The parts of a plan that depend on its kind. */
interface PlanParts {
  requests: number;
  textOf(limit: number): string;
  /** The client that made the plan; `undefined` if the plan was read. */
  client: InventoryClient | undefined;
}

/**
 * The common part of item plans and count plans. `JSON.stringify(plan)` is the plan's document: a person may review it,
 * and another process may apply it.
 * @experimental
 */
export abstract class Plan<Counts, Change, Blocked> {
  /** The kind of the plan. */
  abstract readonly kind: string;
  /** Random name of the plan. */
  readonly id: string;
  /** When the service was read: ISO 8601 in UTC. */
  readonly plannedAt: string;
  /** How many items, or groups of a count, the plan changes and leaves alone. */
  readonly counts: Counts;
  /**
   * The changes that will be written. For items: creates in the order of the source, then updates in the order of the
   * catalog, then discontinuations. For a count: groups in the order of the rows.
   */
  readonly changes: readonly Change[];
  /** Items or groups that need a change that the plan cannot make, each with the reason. */
  readonly blocked: readonly Blocked[];
  readonly #content: object;
  readonly #parts: PlanParts;

  /** @internal */
  constructor(
    content: PlanHead<string> & { counts: Counts; changes: readonly Change[]; blocked: readonly Blocked[] },
    parts: PlanParts,
  ) {
    this.#content = deepFreeze(content);
    this.#parts = parts;
    ({ id: this.id, plannedAt: this.plannedAt, counts: this.counts } = content);
    ({ changes: this.changes, blocked: this.blocked } = content);
  }

  /** True if there is nothing to write. Blocked items or groups do not count. */
  get isEmpty(): boolean {
    return this.changes.length === 0;
  }

  /**
   * Returns the plan for people, like a diff: `+` create or receive, `~` update (old and new values), `-` discontinue
   * or issue, `!` blocked. A count shows book and counted quantities, and lots. `limit`: how many of each; default all.
   */
  toText(options: { limit?: number | undefined } = {}): string {
    const { limit = Infinity } = checkMethodOptions("plan.toText", textOptionsSchema, options);
    return this.#parts.textOf(limit);
  }

  /**
   * Estimates the requests and the time that applying the plan takes. It uses the rate limit of the client that made
   * the plan, or the documented limit if the plan was read. It sends no request.
   */
  estimate(): PlanEstimate {
    const { requests, client } = this.#parts;
    return { requests, durationMs: durationOf(requests, client?.bulkAllowance ?? DOCUMENTED_ALLOWANCE) };
  }

  /** Returns the document of the plan, for `JSON.stringify`. */
  toJSON(): object {
    return withDigest(this.#content);
  }
}
