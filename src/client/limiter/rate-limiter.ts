import type { Cancellation } from "../../shared/time/cancellation.js";
import type { Slot, SlotKind } from "./slot-source.js";

/** How urgent a call is. Writes are `high`, single reads `normal`, further pages of an iteration `low`. */
export type Priority = "high" | "normal" | "low";

/** The state of a rate limiter at one moment. */
export interface RateLimitSnapshot {
  /** Requests allowed in any interval; `Infinity` without a limit. */
  limit: number;
  /** Length of the interval in ms. */
  intervalMs: number;
  /** Slots that are free; 0 during a pause. `maxConcurrent` may allow fewer requests to start at the same time. */
  available: number;
  /** Calls that wait for a slot. */
  queued: number;
  /** Requests in flight. */
  inFlight: number;
  /** End of the pause after a 429, in ms since the epoch; null when there is none. */
  pausedUntil: number | null;
}

export interface SlotRequest {
  /** A token request takes precedence, since all calls may be waiting for it. */
  readonly priority: Priority | "token";
  readonly slotKind: SlotKind;
  /** Position in the order in which calls reached the limiter, which sets it. A retry keeps that of the first attempt. */
  arrival?: number | undefined;
  /** Ends the wait. */
  readonly cancellation: Cancellation;
}

/** How long a request that joined the queue now would wait. */
export interface WaitEstimate {
  /** The least wait for a slot, as far as is known, in ms: 0 if one may be free. */
  waitMs: number;
  /** End of the pause after a 429, in ms since the epoch; null if there is none. */
  pausedUntil: number | null;
  /** Creates the error of the 429 that began the pause. Missing if another process began the pause. */
  pauseError?: (() => unknown) | undefined;
}

/** Not exported by the package: no other object can have this property, so the compiler refuses look-alikes. */
export const RATE_LIMITER_BRAND: unique symbol = Symbol("stocklot.RateLimiter");

/**
 * Decides when requests may be sent. Create it with `createRateLimiter`, `createRedisRateLimiter` or
 * `createBottleneckRateLimiter`; your own objects are not accepted. Several clients can share one limiter.
 */
export interface RateLimiter {
  /** Marks the limiters of this package. */
  readonly [RATE_LIMITER_BRAND]: true;
  /** Takes a slot if one is free and no call waits. @internal */
  tryAcquire(request: SlotRequest): Slot | undefined;
  /** Waits for a slot in the queue. @internal */
  acquire(request: SlotRequest): Promise<Slot>;
  /** Has no side effect. @internal */
  estimateWait(request: SlotRequest): WaitEstimate;
  /**
   * Grants no slot for this time, then one to a request as a probe, then all others. Has no effect during a pause.
   * Processes that share the pause each send a probe of their own.
   * `error` creates the error of the 429.
   * @internal
   */
  pause(pauseMs: number, error?: () => unknown): void;
  /** The total time of all pauses up to now, in ms. @internal */
  totalPausedMs(): number;
  /** Slots of each interval that bulk requests may not use. @internal */
  readonly reserved: number;
  /** The state at this moment. */
  snapshot(): RateLimitSnapshot;
}
