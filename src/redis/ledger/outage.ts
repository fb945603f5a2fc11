import { ConnectionError } from "../../errors/index.js";
import { type Memory, ownShare, type Share } from "./own-share.js";
import type { Terms } from "./terms.js";

export interface OutageOptions {
  terms: Terms;
  /** What to do while the ledger cannot be reached. */
  onStoreError: "fail" | "local";
  warn(message: string): void;
}

/** The time in which the ledger cannot be reached: since when it is, and what this process may do meanwhile. */
export class Outage {
  readonly #options: OutageOptions;
  #current: { since: number; memory: Memory; isReported: boolean } | undefined;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#current !== undefined;
  }

  /** Whether the process goes on with slots of its own. */
  get allowsOwn(): boolean {
    return this.isOn && this.#options.onStoreError === "local";
  }

  get failsCalls(): boolean {
    return this.#options.onStoreError === "fail";
  }

  /** What the process may have for itself now. */
  share(now: number): Share {
    const { memory, since } = this.#current ?? { memory: { members: undefined, held: 0 }, since: now };
    return ownShare(memory, now - since, this.#options.terms);
  }

  /** When that becomes more. */
  get shareGrowsAt(): number | undefined {
    return this.#current && this.#current.since + this.#options.terms.returnMs;
  }

  begin(now: number, memory: Memory): void {
    this.#current ??= { since: now, memory, isReported: false };
  }

  end(): void {
    this.#current = undefined;
  }

  /** Warns, once in an outage. */
  report(error: Error): void {
    const outage = this.#current;
    if (!outage || outage.isReported) return;
    outage.isReported = true;
    const { terms, warn } = this.#options;
    const { slots } = ownShare(outage.memory, Number.POSITIVE_INFINITY, terms);
    const consequence = this.failsCalls
      ? "calls fail"
      : `this process goes on with ${slots} of ${terms.requests} requests in ${terms.intervalMs} ms`;
    warn(`the shared rate limiter cannot reach Redis (${error.message}): ${consequence} until it can`);
  }
}

/** What a call gets that cannot have a slot. */
export function noSlotError(cause: Error): ConnectionError {
  return new ConnectionError(`the shared rate limiter cannot reach Redis, nothing was sent: ${cause.message}`, {
    cause,
  });
}
