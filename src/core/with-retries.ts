import pRetry from "p-retry";
import { monotonicNowMs } from "../time/clock.js";
import { acquireSlot } from "./acquire-slot.js";
import { type AttemptDeps, sendAttempt } from "./attempt.js";
import type { Call } from "./call.js";
import { describeFailure, outcomeOfFailedAttempt } from "./failure.js";
import { journaledAttempt } from "./journaled-attempt.js";
import { errorOfFailedAttempt } from "./response/caller-error.js";
import { decideRetry, mayHaveBeenApplied } from "./retry-policy.js";
import type { WireResponse } from "./transport/transport.js";

/**
 * Sends the request of a call, again after each failure that the retry policy allows. Each attempt first acquires a slot.
 *
 * p-retry is only set up after the first failure, since it would cost every call time and memory (bench: overhead, memory).
 * It never waits itself: the back-off is ours, because it ends with the call.
 */
export function sendWithRetries(deps: AttemptDeps, call: Call): Promise<WireResponse> {
  // No async functions: each would take 0.3 KiB in every queued call (bench: memory).
  const { journal } = call.settings;
  const sendOnce = () =>
    acquireSlot(deps, call).then((grant) =>
      journal ? journaledAttempt(deps, call, grant, journal) : sendAttempt(deps, call, grant),
    );
  return sendOnce().catch(async (failure) => {
    await backOff(deps, call, failure);
    return pRetry(sendOnce, {
      retries: Infinity,
      minTimeout: 0,
      onFailedAttempt: ({ error }) => backOff(deps, call, error),
    });
  });
}

/** Waits before the next attempt; rethrows the failure if there must not be another one. */
async function backOff(deps: AttemptDeps, call: Call, failure: unknown): Promise<void> {
  const outcome = outcomeOfFailedAttempt(call, failure);
  if (!outcome || deps.closed) throw failure;
  call.mayHaveBeenApplied ||= mayHaveBeenApplied(outcome);
  const decision = decideRetry(outcome, call, call.settings.retry);
  if (!decision) throw failure;
  const { delayMs, budget } = decision;
  call.lastError = errorOfFailedAttempt(call, failure);
  call[budget] += 1;
  if (call.settings.journal) await call.cancellation.race(call.settings.journal.beforeRetry());
  // No retry event if the total time does not allow the retry.
  call.cancellation.ensureTimeFor(delayMs);
  deps.telemetry.emit("retry", () => ({
    ...call.identity,
    attempt: call.attempts + 1,
    delayMs,
    reason: describeFailure(failure),
  }));
  const startedAt = monotonicNowMs();
  try {
    await call.cancellation.sleep(delayMs);
  } finally {
    call.spent.backoffMs += monotonicNowMs() - startedAt;
  }
}
