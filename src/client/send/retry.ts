/*
 * Waits and repeats, as the table at the head of failure.ts says. After a 429, the limiter pauses all calls, and a call is
 * repeated at most `maxRateLimitRetries` times. After other failures, it is repeated after a back-off, at most `maxRetries`
 * times. `attempt` makes the repetition after a 401.
 */
import pRetry from "p-retry";
import { sleep } from "../../shared/time/wait.js";
import type { Call } from "./call.js";
import { failedAttempt } from "./caller-error.js";
import type { Failure } from "./failure.js";
import type { AttemptResult, Progress } from "./progress.js";
import type { RetrySettings } from "./retry-options.js";

/** How many times a call is repeated with `retry: "after a moment"`. */
const MAX_MOMENTS = 2;

/**
 * Repeats a failed attempt as long as its failure allows it. Each attempt gets the progress of the call, and returns the new
 * progress. The first attempt is not made here, because p-retry takes as long as all other steps of a call.
 */
export async function retried(
  call: Call,
  failed: AttemptResult,
  {
    runAttempt,
    isLast,
    onRetry,
  }: {
    runAttempt: (progress: Progress) => Promise<AttemptResult>;
    /** Whether no attempt may follow. */
    isLast: () => boolean;
    onRetry: (progress: Progress, reason: string) => void;
  },
): Promise<AttemptResult> {
  const { lifetime, settings } = call;
  let latest = failed;
  const again = new Error("again");
  try {
    await pRetry(
      async (round) => {
        if (round > 1) latest = await runAttempt(latest.progress);
        if (latest.failure) throw again;
      },
      {
        // `afterRetry` decides how often to retry, and `retryWaitMs` how long to wait.
        retries: Infinity,
        minTimeout: 0,
        maxTimeout: 0,
        signal: lifetime.signal,
        shouldRetry: async () => {
          const { failure } = latest;
          if (!failure || isLast()) return false;
          const progress = afterRetry(latest.progress, failure, settings.retry);
          if (!progress) return false;
          latest = { progress, failure };
          onRetry(progress, failure.reason);
          const waitMs = retryWaitMs(failure, progress.retries, settings.retry, Math.random());
          if (waitMs > 0) await sleep(waitMs, lifetime);
          return true;
        },
      },
    );
  } catch (thrown) {
    // p-retry also rejects if the signal aborts at the moment of success. Then the success counts.
    if (!latest.failure || thrown === again) return latest;
    if (!lifetime.aborted) throw thrown;
    return failedAttempt(call, latest.progress, { kind: "end", reason: lifetime.reason, sent: false });
  }
  return latest;
}

/** Returns the progress of a call that will be repeated; `undefined` if the call ends with this failure. */
function afterRetry(progress: Progress, { retry }: Failure, settings: RetrySettings): Progress | undefined {
  if (retry === "never" || retry === "with a new token") return undefined;
  if (retry === "after the pause") {
    const rateLimitRetries = progress.rateLimitRetries + 1;
    return rateLimitRetries <= settings.maxRateLimitRetries ? { ...progress, rateLimitRetries } : undefined;
  }
  const retries = progress.retries + 1;
  return retries <= (retry === "after a moment" ? MAX_MOMENTS : settings.maxRetries)
    ? { ...progress, retries }
    : undefined;
}

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
