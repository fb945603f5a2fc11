import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";
import { type FallbackQuota, fallbackQuota, type LastKnownState } from "./fallback-quota.js";
import type { LeaseTimings } from "./lease-timings.js";

/** Time between two attempts to reach Redis again. */
const RECONNECT_MS = 500;

export interface OutageOptions {
  settings: RateLimitSettings;
  timings: LeaseTimings;
  onStoreError: "fail" | "local";
  warn(message: string): void;
}

/** The time in which Redis cannot be reached, and what this process may do meanwhile. */
export class Outage {
  readonly #options: OutageOptions;
  #current: { since: number; failedAt: number; state: LastKnownState; isReported: boolean } | undefined;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#current !== undefined;
  }

  /** Whether calls are served without Redis. */
  get usesFallback(): boolean {
    return this.isOn && this.#options.onStoreError === "local";
  }

  /** What this process may use now; `undefined` while it depends on Redis. */
  quota(now: number): FallbackQuota | undefined {
    const { settings, timings } = this.#options;
    if (!this.#current || !this.usesFallback) return undefined;
    return fallbackQuota(this.#current.state, now - this.#current.since, settings, timings);
  }

  /** When the quota may grow; a time in the past if it does not grow any more. */
  get quotaGrowsAt(): number {
    return (this.#current?.since ?? Number.NEGATIVE_INFINITY) + this.#options.timings.returnMs + 1;
  }

  get nextAttemptAt(): number {
    return (this.#current?.failedAt ?? Number.NEGATIVE_INFINITY) + RECONNECT_MS;
  }

  failed(now: number, state: LastKnownState): void {
    this.#current ??= { since: now, failedAt: now, state, isReported: false };
    this.#current.failedAt = now;
  }

  end(): void {
    this.#current = undefined;
  }

  /** Warns, once in an outage. */
  report(error: Error): void {
    if (!this.#current || this.#current.isReported) return;
    this.#current.isReported = true;
    const { requests, intervalMs } = this.#options.settings;
    const quota = this.quota(Number.POSITIVE_INFINITY);
    const consequence = quota
      ? `this process goes on with ${quota.slots} of ${requests} requests in ${intervalMs} ms`
      : "calls fail";
    this.#options.warn(`the shared rate limiter cannot reach Redis (${error.message}): ${consequence} until it can`);
  }
}
