import pRetry from "p-retry";
import type { Call } from "./call.js";
import { describeFailure, outcomeOf } from "./failure.js";
import { errorFor } from "./public-error.js";
import type { Reporter } from "./reporter.js";
import { decide, isOutcomeOpen } from "./retry-policy.js";
import type { WireResponse } from "./transport.js";

interface Client {
  readonly closed: boolean;
  readonly reporter: Reporter;
}

/**
 * Makes attempts until one succeeds or the policy says stop. p-retry comes in when the first attempt has failed: to set it
 * up for every call would cost each of them a fifth of the client's own time, and the queued ones a quarter of their memory.
 */
export async function withRetry(
  call: Call,
  client: Client,
  attempt: () => Promise<WireResponse>,
): Promise<WireResponse> {
  try {
    return await attempt();
  } catch (failure) {
    return retry(call, client, (number) => (number === 1 ? Promise.reject(failure) : attempt()));
  }
}

/** The waiting is ours, not p-retry's: it ends when the call does, and it happens outside a slot of the limiter. */
function retry(call: Call, client: Client, attempt: (number: number) => Promise<WireResponse>): Promise<WireResponse> {
  return pRetry(attempt, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 0,
    shouldRetry: async ({ error }) => {
      const outcome = outcomeOf(error);
      if (!outcome || client.closed) return false;
      call.outcomeOpen ||= isOutcomeOpen(outcome);
      const decision = decide(outcome, call, call.settings.retry);
      if (!decision.retry) return false;
      call.failure = errorFor(call, error);
      const { delayMs } = decision;
      if (decision.counts === "replayed") call.replayed = true;
      else call[decision.counts] += 1;
      const reason = describeFailure(error);
      client.reporter.emit(
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
