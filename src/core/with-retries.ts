import pRetry from "p-retry";
import { now } from "../time/timer.js";
import { acquireSlot } from "./acquire-slot.js";
import { type AttemptDeps, attempt } from "./attempt.js";
import type { Call } from "./call.js";
import { attemptOutcome, describeFailure } from "./failure.js";
import { failureError } from "./response/caller-error.js";
import { decideRetry, mayHaveBeenApplied } from "./retry-policy.js";
import type { WireResponse } from "./transport/transport.js";

/**
 * Makes attempts until one succeeds or the policy says stop. It comes in when the first attempt has failed: to set p-retry
 * up for every call would cost each of them a fifth of the client's own time, and the queued ones a quarter of their memory.
 *
 * The waiting is ours, not p-retry's: it ends when the call does, and it happens outside a slot of the limiter.
 */
export function withRetries(tools: AttemptDeps, call: Call, failure: unknown): Promise<WireResponse> {
  const again = async (number: number) => {
    if (number === 1) throw failure;
    return attempt(tools, call, await acquireSlot(tools, call));
  };
  return pRetry(again, {
    retries: Infinity,
    minTimeout: 0,
    shouldRetry: async ({ error }) => {
      const outcome = attemptOutcome(call, error);
      if (!outcome || tools.closed) return false;
      call.mayHaveBeenApplied ||= mayHaveBeenApplied(outcome);
      const decision = decideRetry(outcome, call, call.settings.retry);
      if (!decision) return false;
      const { delayMs, budget: counts } = decision;
      call.failure = failureError(call, error);
      call[counts] += 1;
      // Nobody is told of a retry that the total time does not allow.
      call.cancellation.ensureTimeFor(delayMs);
      const attempt = call.attempts + 1;
      tools.telemetry.emit("retry", () => ({ ...call.identity, attempt, delayMs, reason: describeFailure(error) }));
      const startedAt = now();
      try {
        await call.cancellation.sleep(delayMs);
      } finally {
        call.spent.backoffMs += now() - startedAt;
      }
      return true;
    },
  });
}
