import pRetry from "p-retry";
import { now } from "../time/timer.js";
import { admit } from "./admit.js";
import { type AttemptTools, attempt } from "./attempt.js";
import type { Call } from "./call.js";
import { describeFailure, outcomeOf } from "./failure.js";
import { errorFor } from "./public-error.js";
import { decide, isOutcomeOpen } from "./retry-policy.js";
import type { WireResponse } from "./transport.js";

/**
 * Makes attempts until one succeeds or the policy says stop. It comes in when the first attempt has failed: to set p-retry
 * up for every call would cost each of them a fifth of the client's own time, and the queued ones a quarter of their memory.
 *
 * The waiting is ours, not p-retry's: it ends when the call does, and it happens outside a slot of the limiter.
 */
export function retry(tools: AttemptTools, call: Call, failure: unknown): Promise<WireResponse> {
  const again = async (number: number) => {
    if (number === 1) throw failure;
    return attempt(tools, call, await admit(tools, call));
  };
  return pRetry(again, {
    retries: Infinity,
    minTimeout: 0,
    shouldRetry: async ({ error }) => {
      const outcome = outcomeOf(call, error);
      if (!outcome || tools.closed) return false;
      call.outcomeOpen ||= isOutcomeOpen(outcome);
      const decision = decide(outcome, call, call.settings.retry);
      if (!decision) return false;
      const { delayMs, counts } = decision;
      call.failure = errorFor(call, error);
      call[counts] += 1;
      // Nobody is told of a retry that the total time does not allow.
      call.lifetime.reserve(delayMs);
      const attempt = call.attempts + 1;
      tools.reporter.emit("retry", () => ({ ...call.identity, attempt, delayMs, reason: describeFailure(error) }));
      const startedAt = now();
      try {
        await call.lifetime.sleep(delayMs);
      } finally {
        call.spent.backoffMs += now() - startedAt;
      }
      return true;
    },
  });
}
