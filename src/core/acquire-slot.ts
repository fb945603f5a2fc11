import type { TokenManager } from "../auth/token-manager.js";
import type { RateLimiter, Slot, SlotRequest } from "../limiter/rate-limiter.js";
import { monotonicNowMs } from "../time/clock.js";
import type { Call } from "./call.js";
import type { ClientState } from "./telemetry/client-state.js";
import type { LongWaitReporter } from "./telemetry/long-waits.js";
import type { Telemetry } from "./telemetry/telemetry.js";

/** After this many tokens that expired in the queue, the last token is used, whatever its age. */
const MAX_TOKEN_REFRESHES = 3;

export interface SlotGrant {
  slot: Slot;
  /** The access token; the request for a token has none. */
  token: string | undefined;
}

/** What is needed to acquire a slot. */
export interface AcquireSlotDeps {
  readonly limiter: RateLimiter;
  readonly tokens: TokenManager;
  readonly waits: LongWaitReporter;
  readonly telemetry: Telemetry;
  readonly client: ClientState;
  readonly closed: boolean;
}

/**
 * Waits for a token, then for a slot. In this order, because the token request needs a slot too, and there may be only
 * one. If the token expires in the queue, the slot is returned and a new token is requested.
 */
export async function acquireSlot(deps: AcquireSlotDeps, call: Call): Promise<SlotGrant> {
  const startedAt = monotonicNowMs();
  const { limiter, tokens, waits, telemetry, client } = deps;
  const { request, cancellation } = call;
  const needsToken = !request.isTokenRequest;
  const pausedBefore = limiter.pausedMs();
  let queuedMs = 0;
  try {
    for (let round = 1; ; round += 1) {
      if (deps.closed) cancellation.cancel({ kind: "closed" });
      // Checked first, so that no token is requested for a cancelled call.
      cancellation.throwIfCancelled();
      call.waitingFor = "slot";
      const slotRequest = createSlotRequest(call);
      if (needsToken && tokens.freshToken === undefined) {
        // No token request if the slot would come too late.
        cancellation.ensureTimeFor(limiter.estimateWait(slotRequest).waitMs);
        waits.begin(call, "token", 0);
        await tokens.ensureToken(cancellation);
      }
      let slot = limiter.tryAcquire(slotRequest);
      if (!slot) {
        const queuedAt = monotonicNowMs();
        telemetry.emit("queued", () => ({ ...call.identity, attempt: call.attempts + 1, client }));
        waits.begin(call, "slot", limiter.estimateWait(slotRequest).waitMs);
        slot = await limiter.acquire(slotRequest);
        queuedMs += monotonicNowMs() - queuedAt;
      }
      call.arrival = slot.arrival;
      const token = round < MAX_TOKEN_REFRESHES ? tokens.freshToken : tokens.lastToken;
      if (!cancellation.reason && (token !== undefined || !needsToken)) {
        telemetry.emit("slot", () => ({ ...call.identity, attempt: call.attempts + 1, client, waitedMs: queuedMs }));
        return { slot, token: needsToken ? token : undefined };
      }
      slot.endUnsent();
    }
  } catch (failure) {
    // Without the arrival: the call has left the queue, so the estimate is that of a new call.
    if (cancellation.reason?.kind === "out-of-time") {
      call.unmetWait = limiter.estimateWait({ ...createSlotRequest(call), arrival: undefined });
    }
    throw failure;
  } finally {
    waits.end(call);
    const pausedMs = limiter.pausedMs() - pausedBefore;
    call.spent.pausedMs += pausedMs;
    call.spent.waitingMs += Math.max(0, monotonicNowMs() - startedAt - pausedMs);
  }
}

const createSlotRequest = ({ request, priority, arrival, cancellation }: Call): SlotRequest => ({
  priority,
  isBulk: request.isBulk === true,
  arrival,
  cancellation,
});
