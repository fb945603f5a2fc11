/** The rate limit of a service. */
export interface Limit {
  requests: number;
  intervalMs: number;
  window: "sliding" | "fixed";
}

/** Admits requests until the window is full, and records the admitted requests. Refused requests do not count. */
export class Admissions {
  readonly admitted: number[] = [];
  refused = 0;
  readonly #limit: Limit | undefined;
  readonly #startedAt = performance.now();

  constructor(limit: Limit | undefined) {
    this.#limit = limit;
  }

  get isLimited(): boolean {
    return this.#limit !== undefined;
  }

  admit(): boolean {
    if (!this.#limit) return true;
    const now = performance.now();
    const { requests, intervalMs, window } = this.#limit;
    const windowStart = window === "sliding" ? now - intervalMs : now - ((now - this.#startedAt) % intervalMs);
    const before = this.admitted.at(-requests);
    if (before !== undefined && before > windowStart) {
      this.refused += 1;
      return false;
    }
    this.admitted.push(now);
    return true;
  }

  /** The most requests that were admitted within any interval. */
  get mostPerInterval(): number {
    const { intervalMs = 0 } = this.#limit ?? {};
    let first = 0;
    let most = 0;
    this.admitted.forEach((time, index) => {
      while ((this.admitted[first] ?? time) <= time - intervalMs) first += 1;
      most = Math.max(most, index - first + 1);
    });
    return most;
  }
}
