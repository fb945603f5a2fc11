import type { Failure } from "./failure.js";
import type { RetrySettings } from "./retry-options.js";

const MAX_RETRY_AFTER_MS = 60_000;
/**
 * Long enough for a service that is starting on this machine. With two retries, a missing service is reported within a
 * second.
 */
const MOMENT_MS = 300;

/**
 * How long to wait before a retry, in ms. `round` counts from 1 the retries after a back-off; `random` is between 0 and 1.
 *
 *   after a back-off   `Retry-After` of the service, up to 60 s; without it `minDelayMs`, doubled with each round, plus a random
 *                      share of that, up to `maxDelayMs`
 *   after a moment     300 ms
 *   after the pause    0: the limiter waits
 */
export function retryWaitMs(
  { retry, retryAfterMs = 0 }: Pick<Failure, "retry" | "retryAfterMs">,
  round: number,
  { minDelayMs, maxDelayMs }: Pick<RetrySettings, "minDelayMs" | "maxDelayMs">,
  random: number,
): number {
  if (retry === "after the pause") return 0;
  if (retry === "after a moment") return MOMENT_MS;
  if (retryAfterMs > 0) return Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
  return Math.min(minDelayMs * 2 ** (round - 1) * (1 + random), maxDelayMs);
}
