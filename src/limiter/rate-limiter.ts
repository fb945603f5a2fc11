import type { Cancellation } from "../time/cancellation.js";

/** How urgent a call is. Writes are `high`, single reads `normal`, further pages of an iteration `low`. */
export type Priority = "high" | "normal" | "low";

/** The state of a rate limiter at one moment. */
export interface RateLimitSnapshot {
  /** Requests allowed in any interval; `Infinity` without a limit. */
  limit: number;
  /** Length of the interval in ms. */
  intervalMs: number;
  /** Slots that are free; 0 during a pause. `maxConcurrent` may let fewer requests start at once. */
  available: number;
  /** Calls that wait for a slot. */
  queued: number;
  /** Requests under way. */
  inFlight: number;
  /** End of the pause after a 429, in ms since the epoch; null when there is none. */
  pausedUntil: number | null;
}

/** What one request asks of a limiter. */
export interface SlotRequest {
  /** A token request goes before everything, since all calls may be waiting for it. */
  priority: Priority | "token";
  /** A further page of an iteration: it may not use the reserved slots. */
  bulk: boolean;
  /** Arrival of the call in the limiter; given when it comes back for another attempt, so that it keeps its place. */
  arrival?: number | undefined;
  /** Ends the wait. */
  cancellation: Cancellation;
}

/** The right to send one request. */
export interface Slot {
  readonly arrival: number;
  /** The request has ended, however it did; its slot comes back one interval later. */
  release(): void;
  /** Nothing was sent; the slot comes back at once. */
  returnUnused(): void;
}

/** What a request that joined the queue now would wait for. */
export interface WaitEstimate {
  /** No slot comes earlier, as far as is known, in ms from now: 0 if one may be free. */
  waitMs: number;
  /** End of the pause after a 429, in ms since the epoch; null if there is none. */
  pausedUntil: number | null;
  /** Creates the error of the 429 that began the pause. The pause of another process has none here. */
  pauseError?: (() => unknown) | undefined;
}

/** Not exported by the package: no other object can have this property, so the compiler refuses look-alikes. */
export const RATE_LIMITER: unique symbol = Symbol("stocklot.RateLimiter");

/**
 * Decides when requests may be sent. Created by `createRateLimiter`, `createRedisRateLimiter` or
 * `createBottleneckRateLimiter`, never by hand; one limiter can serve several clients.
 */
export interface RateLimiter {
  /** Marks the limiters of this package. */
  readonly [RATE_LIMITER]: true;
  /** Takes a slot if one is free and nobody waits. @internal */
  tryAcquire(request: SlotRequest): Slot | undefined;
  /** @internal */
  acquire(request: SlotRequest): Promise<Slot>;
  /** Changes nothing. @internal */
  estimateWait(request: SlotRequest): WaitEstimate;
  /**
   * Lets nothing through for a time, then one request as a probe, then the rest. During a pause it changes nothing.
   * `error` creates the error of the 429.
   * @internal
   */
  pause(delayMs: number, error?: () => unknown): void;
  /** How long this limiter has been paused up to now, all pauses together. @internal */
  pausedMs(): number;
  /** Slots of each interval that further pages of iterations may not use. @internal */
  readonly reserved: number;
  /** The state at this moment. */
  snapshot(): RateLimitSnapshot;
}
