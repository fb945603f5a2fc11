import type { TokenManager } from "../auth/token-manager.js";
import type { RateLimiter, Slot } from "../limiter/rate-limiter.js";
import { now } from "../time/timer.js";
import type { Call } from "./call.js";

/** After so many tokens that expired in the queue, the last one is tried, whatever its age. */
const TOKENS_TO_WAIT_FOR = 3;

export interface Admission {
  slot: Slot;
  /** The access token; the request for a token has none. */
  token: string | undefined;
}

/** What a call needs to be let through. */
export interface Gate {
  readonly limiter: RateLimiter;
  readonly tokens: TokenManager;
  readonly closed: boolean;
}

/**
 * Waits for a token, then for a slot. In this order, since the request for a token needs a slot too and must find one
 * when there is only one. A token that expired in the queue is replaced, and the slot given back for that.
 */
export async function admit(gate: Gate, call: Call): Promise<Admission> {
  const startedAt = now();
  const { request, lifetime } = call;
  const pausedBefore = gate.limiter.pausedMs();
  try {
    for (let round = 1; ; round += 1) {
      if (gate.closed) lifetime.end({ kind: "closed" });
      // Before a token is asked for in vain.
      lifetime.throwIfEnded();
      const needsToken = !request.isTokenRequest;
      if (needsToken && gate.tokens.current === undefined) await gate.tokens.ready(lifetime);
      const slot = await gate.limiter.acquire({
        priority: call.priority,
        bulk: request.bulk === true,
        order: call.order,
        lifetime,
      });
      call.order = slot.order;
      const token = round < TOKENS_TO_WAIT_FOR ? gate.tokens.current : gate.tokens.latest;
      if (!lifetime.ending && (token !== undefined || !needsToken)) {
        return { slot, token: needsToken ? token : undefined };
      }
      slot.giveBack();
    }
  } finally {
    const pausedMs = gate.limiter.pausedMs() - pausedBefore;
    call.spent.pausedMs += pausedMs;
    call.spent.waitingMs += Math.max(0, now() - startedAt - pausedMs);
  }
}
