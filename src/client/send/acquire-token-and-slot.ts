import { monotonicNowMs } from "../../shared/time/clock.js";
import type { Slot } from "../limiter/slot-source.js";
import type { Sending } from "./call.js";
import type { ClientParts } from "./client-parts.js";

/** From this round on, an expired token is used, too: two have expired while the call was in the queue. One that was refused is not. */
const ANY_TOKEN_FROM_ROUND = 3;

export interface TokenAndSlot {
  slot: Slot;
  /** The access token; the request for a token has none. */
  token: string | undefined;
}

/**
 * Waits for a token, then for a slot. In this order, because the token request needs a slot too, and there may be only
 * one. If the token expires in the queue, or is refused there, the slot is returned and a new token is requested: calls that
 * wait share one request (`TokenManager.ensureToken`).
 */
export async function acquireTokenAndSlot(parts: ClientParts, sending: Sending): Promise<TokenAndSlot> {
  const startedAt = monotonicNowMs();
  const { limiter, tokens, telemetry, state } = parts;
  const pausedBefore = limiter.totalPausedMs();
  const needsToken = !sending.request.isTokenRequest;
  let waitedMs = 0;
  try {
    for (let round = 1; ; round += 1) {
      // Checked first, so that no token is requested for a canceled call.
      sending.cancellation.throwIfCanceled();
      if (needsToken && tokens.freshToken === undefined) await waitForToken(parts, sending);
      sending.waitingFor = "slot";
      const queuedAt = monotonicNowMs();
      const slot = limiter.tryAcquire(sending) ?? (await waitForSlot(parts, sending));
      waitedMs += monotonicNowMs() - queuedAt;
      const usableToken = round < ANY_TOKEN_FROM_ROUND ? tokens.freshToken : tokens.lastToken;
      const token = needsToken ? usableToken : undefined;
      if (!sending.cancellation.reason && (token !== undefined || !needsToken)) {
        telemetry.emit("slot", () => ({ ...sending.identity, attempt: sending.attempts + 1, client: state, waitedMs }));
        return { slot, token };
      }
      // Without a token another round requests one; a canceled call ends in it.
      slot.endUnsent();
    }
  } catch (failure) {
    // The call has left the queue, so the estimate is that of a new call.
    sending.arrival = undefined;
    if (sending.cancellation.reason?.kind === "out-of-time") sending.unmetWait = limiter.estimateWait(sending);
    throw failure;
  } finally {
    parts.waits.end(sending);
    const pausedMs = limiter.totalPausedMs() - pausedBefore;
    sending.call.spent.pausedMs += pausedMs;
    sending.call.spent.waitingMs += Math.max(0, monotonicNowMs() - startedAt - pausedMs);
  }
}

function waitForToken({ limiter, tokens, waits }: ClientParts, sending: Sending): Promise<void> {
  // No token request if the slot would come too late.
  sending.cancellation.ensureTimeFor(limiter.estimateWait(sending).waitMs);
  sending.waitingFor = "token";
  waits.begin(sending, 0);
  return tokens.ensureToken(sending.cancellation);
}

function waitForSlot({ limiter, waits, telemetry, state }: ClientParts, sending: Sending): Promise<Slot> {
  telemetry.emit("queued", () => ({ ...sending.identity, attempt: sending.attempts + 1, client: state }));
  waits.begin(sending, limiter.estimateWait(sending).waitMs);
  return limiter.acquire(sending);
}
