import pRetry from "p-retry";
import { monotonicNowMs } from "../../shared/time/clock.js";
import type { WireResponse } from "../transport/transport.js";
import { acquireTokenAndSlot } from "./acquire-token-and-slot.js";
import { sendAttempt } from "./attempt.js";
import type { Sending } from "./call.js";
import { errorOfFailedAttempt } from "./caller-error.js";
import type { ClientParts } from "./client-parts.js";
import { describeFailure, mayHaveBeenApplied, outcomeOfFailedAttempt } from "./failure.js";
import { decideRetry } from "./retry-policy.js";

/**
 * Sends the request of a call, again after each failure that the retry policy allows. p-retry never waits itself: the
 * back-off is ours, because it ends with the call. It is only set up after the first failure, since it takes as long as all
 * other steps of a call together (bench: overhead).
 */
export function sendWithRetries(parts: ClientParts, sending: Sending): Promise<WireResponse> {
  // No async functions: each would take 0.5 KiB in every queued call (bench: memory).
  const sendOnce = () => acquireTokenAndSlot(parts, sending).then((acquired) => sendAttempt(parts, sending, acquired));
  return sendOnce().catch(async (failure) => {
    await backOff(parts, sending, failure);
    return pRetry(sendOnce, {
      retries: Infinity,
      minTimeout: 0,
      onFailedAttempt: ({ error }) => backOff(parts, sending, error),
    });
  });
}

/** Waits before the next attempt; rethrows the failure if there must not be another one. */
async function backOff({ telemetry }: ClientParts, sending: Sending, failure: unknown): Promise<void> {
  const outcome = outcomeOfFailedAttempt(sending, failure);
  if (!outcome || sending.isClosed) throw failure;
  sending.hasUnresolvedAttempt ||= mayHaveBeenApplied(sending, failure);
  const { cancellation } = sending;
  const { journal, retry } = sending.call.settings;
  const decision = decideRetry(outcome, sending, retry);
  if (!decision) throw failure;
  const { delayMs, budget } = decision;
  sending.lastError = errorOfFailedAttempt(sending, failure);
  if (budget) sending[budget] += 1;
  if (journal) await cancellation.race(journal.beforeRetry());
  // No retry event if the total time does not allow the retry.
  cancellation.ensureTimeFor(delayMs);
  const reason = describeFailure(failure);
  telemetry.emit("retry", () => ({ ...sending.identity, attempt: sending.attempts + 1, delayMs, reason }));
  const startedAt = monotonicNowMs();
  try {
    await cancellation.sleep(delayMs);
  } finally {
    sending.call.spent.backoffMs += monotonicNowMs() - startedAt;
  }
}
