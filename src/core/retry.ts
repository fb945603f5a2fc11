import pRetry from "p-retry";
import type { AttemptTools } from "./attempt.js";
import type { Call } from "./call.js";
import { describeFailure, outcomeOf } from "./failure.js";
import { errorFor } from "./public-error.js";
import { decide, isOutcomeOpen } from "./retry-policy.js";
import type { WireResponse } from "./transport.js";

/** Sends the request of a call once. */
type Attempt = (tools: AttemptTools, call: Call) => Promise<WireResponse>;

/**
 * Makes attempts until one succeeds or the policy says stop. p-retry comes in when the first attempt has failed: to set it
 * up for every call would cost each of them a fifth of the client's own time, and the queued ones a quarter of their memory.
 */
export function withRetry(tools: AttemptTools, call: Call, attempt: Attempt): Promise<WireResponse> {
  return attempt(tools, call).catch((failure) => {
    const again = (number: number) => (number === 1 ? Promise.reject(failure) : attempt(tools, call));
    return retry(tools, call, again);
  });
}

/** The waiting is ours, not p-retry's: it ends when the call does, and it happens outside a slot of the limiter. */
function retry(
  tools: AttemptTools,
  call: Call,
  attempt: (number: number) => Promise<WireResponse>,
): Promise<WireResponse> {
  return pRetry(attempt, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 0,
    shouldRetry: async ({ error }) => {
      const outcome = outcomeOf(error);
      if (!outcome || tools.closed) return false;
      call.outcomeOpen ||= isOutcomeOpen(outcome);
      const decision = decide(outcome, call, call.settings.retry);
      if (!decision.retry) return false;
      call.failure = errorFor(call, error);
      const { delayMs } = decision;
      if (decision.counts === "replayed") call.replayed = true;
      else call[decision.counts] += 1;
      const reason = describeFailure(error);
      // Nobody is told of a retry that the total time does not allow.
      call.lifetime.reserve(delayMs);
      tools.reporter.emit(
        "retry",
        "info",
        () => ({ method: call.request.method, path: call.request.path, attempt: call.attempts + 1, delayMs, reason }),
        () => `${call.title}: attempt ${call.attempts} failed (${reason}); again in ${Math.round(delayMs)} ms`,
      );
      const startedAt = performance.now();
      try {
        await call.lifetime.sleep(delayMs);
      } finally {
        call.spent.backoffMs += performance.now() - startedAt;
      }
      return true;
    },
  });
}
