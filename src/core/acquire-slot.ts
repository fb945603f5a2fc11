import type { Slot, SlotRequest } from "../limiter/rate-limiter.js";
import { monotonicNowMs } from "../time/clock.js";
import type { Call } from "./call.js";
import type { ClientParts } from "./client-parts.js";

/** After this many tokens that expired in the queue, the last token is used, whatever its age. */
const MAX_TOKEN_REFRESHES = 3;

export interface SlotGrant {
  slot: Slot;
  /** The access token; the request for a token has none. */
  token: string | undefined;
}

/**
 * Waits for a token, then for a slot. In this order, because the token request needs a slot too, and there may be only
 * one. If the token expires in the queue, the slot is returned and a new token is requested.
 */
export async function acquireSlot(client: ClientParts, call: Call): Promise<SlotGrant> {
  const startedAt = monotonicNowMs();
  const { limiter, tokens, telemetry, state } = client;
  const pausedBefore = limiter.totalPausedMs();
  const needsToken = !call.request.isTokenRequest;
  let waitedMs = 0;
  try {
    for (let round = 1; ; round += 1) {
      // Checked first, so that no token is requested for a canceled call.
      call.cancellation.throwIfCanceled();
      if (needsToken && tokens.freshToken === undefined) await waitForToken(client, call);
      call.waitingFor = "slot";
      const queuedAt = monotonicNowMs();
      const slot = limiter.tryAcquire(createSlotRequest(call)) ?? (await waitForSlot(client, call));
      waitedMs += monotonicNowMs() - queuedAt;
      call.arrival = slot.arrival;
      const token = round < MAX_TOKEN_REFRESHES ? tokens.freshToken : tokens.lastToken;
      if (!call.cancellation.reason && (token !== undefined || !needsToken)) {
        telemetry.emit("slot", () => ({ ...call.identity, attempt: call.attempts + 1, client: state, waitedMs }));
        return { slot, token: needsToken ? token : undefined };
      }
      slot.endUnsent();
    }
  } catch (failure) {
    // Without the arrival: the call has left the queue, so the estimate is that of a new call.
    if (call.cancellation.reason?.kind === "out-of-time")
      call.unmetWait = limiter.estimateWait({ ...createSlotRequest(call), arrival: undefined });
    throw failure;
  } finally {
    client.waits.end(call);
    const pausedMs = limiter.totalPausedMs() - pausedBefore;
    call.spent.pausedMs += pausedMs;
    call.spent.waitingMs += Math.max(0, monotonicNowMs() - startedAt - pausedMs);
  }
}

function waitForToken({ limiter, tokens, waits }: ClientParts, call: Call): Promise<void> {
  // No token request if the slot would come too late.
  call.cancellation.ensureTimeFor(limiter.estimateWait(createSlotRequest(call)).waitMs);
  call.waitingFor = "token";
  waits.begin(call, 0);
  return tokens.ensureToken(call.cancellation);
}

function waitForSlot({ limiter, waits, telemetry, state }: ClientParts, call: Call): Promise<Slot> {
  const request = createSlotRequest(call);
  telemetry.emit("queued", () => ({ ...call.identity, attempt: call.attempts + 1, client: state }));
  waits.begin(call, limiter.estimateWait(request).waitMs);
  return limiter.acquire(request);
}

const createSlotRequest = ({ priority, isBulk, arrival, cancellation }: Call): SlotRequest => ({
  priority,
  isBulk,
  arrival,
  cancellation,
});
