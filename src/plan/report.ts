import { ConnectionError, type InventoryClient } from "../client/index.js";

/** Options of `plan.apply`. */
export interface PlanApplyOptions {
  /** The client that reads the present state again, and sends the writes of an item plan. */
  client: InventoryClient;
  /**
   * Ends the call. It waits for the requests in flight, then rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each change, with the number of changes that are applied or reported. An error is ignored.
   * @default none
   */
  onProgress?: ((progress: { done: number; total: number }) => unknown) | undefined;
}

/** Requests and time that applying a plan takes. */
export interface PlanEstimate {
  /** Requests: the writes, reading the present state again, and a few more. */
  requests: number;
  /** Estimated duration, in ms. */
  durationMs: number;
}

/** How old a reading may be when a write that is based on it is sent, in ms. */
export const MAX_AGE_MS = 600_000;

/** The reason why an item is stale if two attempts took longer than `MAX_AGE_MS`. */
export const TOO_SLOW = `it could not be read and written within ${MAX_AGE_MS / 60_000} minutes`;
/** If this many items in a row take too long, the next items most likely do, too. */
const MAX_TOO_SLOW = 5;

/** Counts items that take too long, and ends a call that would read for hours and write nothing. */
export class SlowItems {
  #inARow = 0;

  add(shortID: string, isTooSlow: boolean): void {
    this.#inARow = isTooSlow ? this.#inARow + 1 : 0;
    if (this.#inARow < MAX_TOO_SLOW) return;
    const [count, minutes] = [MAX_TOO_SLOW, MAX_AGE_MS / 60_000];
    throw new ConnectionError(
      `plan.apply: ${count} items in a row could not be read and written within ${minutes} minutes (the last: "${shortID}"). Nothing more was sent. Apply the plan again when the service is faster, or when others use less of the rate limit.`,
    );
  }
}
