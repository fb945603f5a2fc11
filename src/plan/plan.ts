import type { InventoryClient } from "../client/index.js";
import { deepFreeze, type PlanHead, withDigest } from "./document.js";
import { estimateOf, type PlanEstimate } from "./report.js";

/**
 * What plans of items and of counts have in common. `JSON.stringify(plan)` is the plan's document: a person may review it, and
 * another process may apply it.
 * @experimental
 */
export abstract class Plan<Counts, Change, Blocked> {
  /** What is planned. */
  abstract readonly kind: string;
  /** Random name of the plan. */
  readonly id: string;
  /** When the service was read: ISO 8601 in UTC. */
  readonly plannedAt: string;
  /** How many items, or groups of a count, the plan changes and leaves alone. */
  readonly counts: Counts;
  /**
   * What will be written. For items: creates in the order of the source, updates in that of the catalog, then what is
   * discontinued. For a count: groups in the order of the rows.
   */
  readonly changes: readonly Change[];
  /** What needs a change that the plan cannot make, each with the reason. */
  readonly blocked: readonly Blocked[];
  readonly #content: object;
  readonly #requests: number;
  readonly #client: InventoryClient | undefined;

  /** @internal */
  constructor(
    content: PlanHead<string> & { counts: Counts; changes: readonly Change[]; blocked: readonly Blocked[] },
    requests: number,
    client: InventoryClient | undefined,
  ) {
    this.#content = deepFreeze(content);
    this.#requests = requests;
    this.#client = client;
    ({ id: this.id, plannedAt: this.plannedAt, counts: this.counts } = content);
    ({ changes: this.changes, blocked: this.blocked } = content);
  }

  /** True if there is nothing to write. What is blocked does not count. */
  get isEmpty(): boolean {
    return this.changes.length === 0;
  }

  /**
   * Estimates what applying the plan costs, within the rate limit of the client that made the plan; of a plan that was read,
   * within the documented limit. It sends no request.
   */
  estimate(): PlanEstimate {
    return estimateOf(this.#requests, this.#client);
  }

  /** The document of the plan, for `JSON.stringify`. */
  toJSON(): object {
    return withDigest(this.#content);
  }
}
