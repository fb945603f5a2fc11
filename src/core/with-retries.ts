import pRetry from "p-retry";
import { monotonicNowMs } from "../time/clock.js";
import { acquireSlotAndToken } from "./acquire-slot-and-token.js";
import { sendAttempt } from "./attempt.js";
import type { Call } from "./call.js";
import type { ClientParts } from "./client-parts.js";
import { describeFailure, mayHaveBeenApplied, outcomeOfFailedAttempt } from "./failure.js";
import { errorOfFailedAttempt } from "./response/caller-error.js";
import { decideRetry } from "./retry-policy.js";
import type { WireResponse } from "./transport/transport.js";

/**
 * Sends the request of a call, again after each failure that the retry policy allows. p-retry never waits itself: the
 * back-off is ours, because it ends with the call. It is only set up after the first failure, since it takes as long as all
 * other steps of a call together (bench: overhead).
 */
export function sendWithRetries(parts: ClientParts, call: Call): Promise<WireResponse> {
  // No async functions: each would take 0.5 KiB in every queued call (bench: memory).
  const sendOnce = () => acquireSlotAndToken(parts, call).then((acquired) => sendAttempt(parts, call, acquired));
  return sendOnce().catch(async (failure) => {
    await backOff(parts, call, failure);
    return pRetry(sendOnce, {
      retries: Infinity,
      minTimeout: 0,
      onFailedAttempt: ({ error }) => backOff(parts, call, error),
    });
  });
}

/** Waits before the next attempt; rethrows the failure if there must not be another one. */
async function backOff({ telemetry }: ClientParts, call: Call, failure: unknown): Promise<void> {
  const outcome = outcomeOfFailedAttempt(call, failure);
  if (!outcome || call.isClosed) throw failure;
  call.mayHaveBeenApplied ||= mayHaveBeenApplied(call, failure);
  const decision = decideRetry(outcome, call, call.settings.retry);
  if (!decision) throw failure;
  const { delayMs, budget } = decision;
  call.lastError = errorOfFailedAttempt(call, failure);
  call[budget] += 1;
  const { cancellation, settings } = call;
  if (settings.journal) await cancellation.race(settings.journal.beforeRetry());
  // No retry event if the total time does not allow the retry.
  cancellation.ensureTimeFor(delayMs);
  const reason = describeFailure(failure);
  telemetry.emit("retry", () => ({ ...call.identity, attempt: call.attempts + 1, delayMs, reason }));
  const startedAt = monotonicNowMs();
  try {
    await cancellation.sleep(delayMs);
  } finally {
    call.spent.backoffMs += monotonicNowMs() - startedAt;
  }
}
