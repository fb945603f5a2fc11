import type { TokenManager } from "../auth/token-manager.js";
import type { RateLimiter, Slot, SlotRequest } from "../limiter/rate-limiter.js";
import { now } from "../time/timer.js";
import type { Call } from "./call.js";
import type { LongWaits } from "./telemetry/long-waits.js";

/** After so many tokens that expired in the queue, the last one is tried, whatever its age. */
const MAX_TOKEN_ROUNDS = 3;

export interface Grant {
  slot: Slot;
  /** The access token; the request for a token has none. */
  token: string | undefined;
}

/** What a call needs to be admitted. */
export interface AcquireDeps {
  readonly limiter: RateLimiter;
  readonly tokens: TokenManager;
  readonly waits: LongWaits;
  readonly closed: boolean;
}

/**
 * Waits for a token, then for a slot. In this order, since the request for a token needs a slot too and must find one
 * when there is only one. A token that expired in the queue is replaced, and the slot is returned for that.
 */
export async function acquireSlot(gate: AcquireDeps, call: Call): Promise<Grant> {
  const startedAt = now();
  const { limiter, tokens, waits } = gate;
  const { request, cancellation } = call;
  const needsToken = !request.isTokenRequest;
  const pausedBefore = limiter.pausedMs();
  try {
    for (let round = 1; ; round += 1) {
      if (gate.closed) cancellation.cancel({ kind: "closed" });
      // Before a token is requested in vain.
      cancellation.throwIfCancelled();
      call.waitingFor = "slot";
      const wanted = slotRequest(call);
      if (needsToken && tokens.freshToken === undefined) {
        // Without a slot in time, a token is of no use.
        cancellation.ensureTimeFor(limiter.estimateWait(wanted).waitMs);
        waits.begin(call, "token", 0);
        await tokens.ensureToken(cancellation);
      }
      let slot = limiter.tryAcquire(wanted);
      if (!slot) {
        waits.begin(call, "slot", limiter.estimateWait(wanted).waitMs);
        slot = await limiter.acquire(wanted);
      }
      call.arrival = slot.arrival;
      const token = round < MAX_TOKEN_ROUNDS ? tokens.freshToken : tokens.lastToken;
      if (!cancellation.reason && (token !== undefined || !needsToken)) {
        return { slot, token: needsToken ? token : undefined };
      }
      slot.returnUnused();
    }
  } catch (failure) {
    // What a new call would wait for: this one has left the queue.
    if (cancellation.reason?.kind === "out-of-time") {
      call.unmetWait = limiter.estimateWait({ ...slotRequest(call), arrival: undefined });
    }
    throw failure;
  } finally {
    waits.end(call);
    const pausedMs = limiter.pausedMs() - pausedBefore;
    call.spent.pausedMs += pausedMs;
    call.spent.waitingMs += Math.max(0, now() - startedAt - pausedMs);
  }
}

const slotRequest = ({ request, priority, arrival: order, cancellation }: Call): SlotRequest => ({
  priority,
  bulk: request.bulk === true,
  arrival: order,
  cancellation,
});
