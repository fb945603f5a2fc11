/*
 * Waits and repeats, as the table at the head of failure.ts says: after a 429 at most `maxRateLimitRetries` times, where the
 * limiter pauses all calls; after other failures at most `maxRetries` times, after a back-off. The repetition after a 401 is that of
 * `attempt`.
 */
import pRetry from "p-retry";
import { sleep } from "../../shared/time/wait.js";
import type { Call } from "./call.js";
import { Failure } from "./failure.js";
import { retryWaitMs } from "./retry-wait.js";

const MAX_MOMENTS = 2;

/** The retries that a call has used up, and how many it may use. */
type Budget = Pick<Call, "settings" | "lifetime" | "retries" | "rateLimitRetries" | "isLastAttempt">;

/**
 * Repeats an attempt as long as its failure and the budget allow it. The first attempt goes directly: p-retry costs as much as
 * all other steps of a call. Rejects with the last `Failure`, or with the reason of the lifetime.
 */
export async function withRetries<T>(
  budget: Budget,
  runAttempt: () => Promise<T>,
  onRetry: (reason: string) => void,
): Promise<T> {
  const { lifetime } = budget;
  let success: { value: T } | undefined;
  try {
    return await runAttempt();
  } catch (first) {
    try {
      await pRetry(
        async (round) => {
          if (round === 1) throw first;
          success = { value: await runAttempt() };
        },
        {
          // The budget decides how often, and `retryWaitMs` how long to wait.
          retries: Infinity,
          minTimeout: 0,
          maxTimeout: 0,
          signal: lifetime.signal,
          shouldRetry: async ({ error }) => {
            if (!(error instanceof Failure) || !takeFrom(budget, error)) return false;
            onRetry(error.reason);
            const waitMs = retryWaitMs(error, budget.retries, budget.settings.retry, Math.random());
            if (waitMs > 0) await sleep(waitMs, lifetime);
            return true;
          },
        },
      );
    } catch (thrown) {
      // p-retry also rejects if the signal aborts in the moment of success: what has succeeded counts.
      if (!success) throw lifetime.aborted && !(thrown instanceof Failure) ? lifetime.reason : thrown;
    }
    if (!success) throw first;
    return success.value;
  }
}

function takeFrom(budget: Budget, { retry }: Failure): boolean {
  if (budget.isLastAttempt || retry === "never" || retry === "with a new token") return false;
  if (retry === "after the pause") return takeRateLimitRetry(budget);
  budget.retries += 1;
  return budget.retries <= (retry === "after a moment" ? MAX_MOMENTS : budget.settings.retry.maxRetries);
}

/** Counts a 429; whether the call goes on after it. */
export function takeRateLimitRetry(budget: Pick<Budget, "settings" | "rateLimitRetries">): boolean {
  budget.rateLimitRetries += 1;
  return budget.rateLimitRetries <= budget.settings.retry.maxRateLimitRetries;
}
