import type { RateLimiter, RateLimitSnapshot } from "../../limiter/rate-limiter.js";

/** What an instrumentation may read of a client at any time. Hold it weakly, so that the client can be collected. */
export class ClientState {
  readonly #isClosed: () => boolean;

  constructor(
    /** Where the client sends its requests, without a slash at the end. */
    readonly baseUrl: string,
    /** Clients with the same limiter share slots and queue. */
    readonly limiter: Pick<RateLimiter, "snapshot">,
    isClosed: () => boolean,
  ) {
    this.#isClosed = isClosed;
  }

  /** Whether `close()` was called. */
  get closed(): boolean {
    return this.#isClosed();
  }

  /** The state of the rate limiter at this moment. */
  get rateLimit(): RateLimitSnapshot {
    return this.limiter.snapshot();
  }
}
