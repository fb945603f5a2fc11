import type { Slot } from "../limiter/slot-source.js";
import { monotonicNowMs } from "../time/clock.js";
import type { Call } from "./call.js";
import type { ClientParts } from "./client-parts.js";

/** After this many tokens that expired in the queue, the last token is used, whatever its age. */
const MAX_TOKEN_REFRESHES = 3;

export interface SlotAndToken {
  slot: Slot;
  /** The access token; the request for a token has none. */
  token: string | undefined;
}

/**
 * Waits for a token, then for a slot. In this order, because the token request needs a slot too, and there may be only
 * one. If the token expires in the queue, the slot is returned and a new token is requested.
 */
export async function acquireSlotAndToken(parts: ClientParts, call: Call): Promise<SlotAndToken> {
  const startedAt = monotonicNowMs();
  const { limiter, tokens, telemetry, state } = parts;
  const pausedBefore = limiter.totalPausedMs();
  const needsToken = !call.request.isTokenRequest;
  let waitedMs = 0;
  try {
    for (let round = 1; ; round += 1) {
      // Checked first, so that no token is requested for a canceled call.
      call.cancellation.throwIfCanceled();
      if (needsToken && tokens.freshToken === undefined) await waitForToken(parts, call);
      call.waitingFor = "slot";
      const queuedAt = monotonicNowMs();
      const slot = limiter.tryAcquire(call) ?? (await waitForSlot(parts, call));
      waitedMs += monotonicNowMs() - queuedAt;
      const token = round < MAX_TOKEN_REFRESHES ? tokens.freshToken : tokens.lastToken;
      if (!call.cancellation.reason && (token !== undefined || !needsToken)) {
        telemetry.emit("slot", () => ({ ...call.identity, attempt: call.attempts + 1, client: state, waitedMs }));
        return { slot, token: needsToken ? token : undefined };
      }
      slot.endUnsent();
    }
  } catch (failure) {
    // The call has left the queue, so the estimate is that of a new call.
    call.arrival = undefined;
    if (call.cancellation.reason?.kind === "out-of-time") call.unmetWait = limiter.estimateWait(call);
    throw failure;
  } finally {
    parts.waits.end(call);
    const pausedMs = limiter.totalPausedMs() - pausedBefore;
    call.spent.pausedMs += pausedMs;
    call.spent.waitingMs += Math.max(0, monotonicNowMs() - startedAt - pausedMs);
  }
}

function waitForToken({ limiter, tokens, waits }: ClientParts, call: Call): Promise<void> {
  // No token request if the slot would come too late.
  call.cancellation.ensureTimeFor(limiter.estimateWait(call).waitMs);
  call.waitingFor = "token";
  waits.begin(call, 0);
  return tokens.ensureToken(call.cancellation);
}

function waitForSlot({ limiter, waits, telemetry, state }: ClientParts, call: Call): Promise<Slot> {
  telemetry.emit("queued", () => ({ ...call.identity, attempt: call.attempts + 1, client: state }));
  waits.begin(call, limiter.estimateWait(call).waitMs);
  return limiter.acquire(call);
}
