/**
 * Slots of the rate limit from a Bottleneck that the program already has.
 *
 * @module stocklot/bottleneck
 */
import type Bottleneck from "bottleneck";
import { ConfigurationError } from "../errors/index.js";
import { Clock } from "../limiter/clock.js";
import { queueingLimiter } from "../limiter/queueing-limiter.js";
import { NO_LIMIT } from "../limiter/rate-limit-options.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import { BottleneckSlots } from "./bottleneck-slots.js";

export type { RateLimiter, RateLimitSnapshot } from "../limiter/rate-limiter.js";

/**
 * A rate limiter whose slots come from a Bottleneck, for programs that already have one: stocklot and the jobs that the
 * program schedules there itself then share one limit, also where the Bottleneck is clustered. Each request is a job that
 * runs until the request has ended. The queue, its priorities and the pause after a 429 are stocklot's own.
 *
 * How many requests pass, and when, is the Bottleneck's business: its `reservoir` is a fixed window, through which twice
 * the number can pass within one interval. Prefer `createRateLimiter` where nothing else shares the limit.
 *
 * @throws ConfigurationError when the argument is no Bottleneck.
 */
export function createBottleneckRateLimiter(bottleneck: Bottleneck): RateLimiter {
  if (typeof bottleneck?.schedule !== "function") throw new ConfigurationError("rate limit: that is no Bottleneck");
  return queueingLimiter(NO_LIMIT, new Clock(), (listener) => new BottleneckSlots(bottleneck, listener));
}
