import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";
import { lazy } from "../../schemas/field.js";
import { keyName, type RedisClient } from "../redis-client.js";
import type { LeaseTimings } from "./lease-timings.js";
import { LEDGER_SCRIPT } from "./ledger-script.js";

/** The epoch of slots that were used while Redis was unreachable. */
export const NO_LEDGER = "none";

/** Slots for single calls, and for further pages of iterations. */
export interface SlotCounts {
  singles: number;
  pages: number;
}

/** All that a process holds, each time: so a message that was lost needs no repair. And what it asks for. */
export interface LedgerRequest {
  /**
   * The ledger that knows which slots this process used: that of the last exchange, or `NO_LEDGER`. `undefined` if none of
   * these can be in use any more.
   */
  knownEpoch: string | undefined;
  /** In how many ms each slot is free again; for a request in flight, if this process is silent from now on. */
  held: { singles: number[]; pages: number[] };
  wanted: SlotCounts;
  /** A pause to begin, in ms; 0 for none. */
  pauseMs: number;
}

/** The ledger's reply. Times count from then on. */
export interface LedgerReply {
  epoch: string;
  /** How long all processes have to pause. */
  pauseMs: number;
  granted: SlotCounts;
  /** Slots that no process holds. */
  free: number;
  /** When the next slot can be free at the earliest. */
  nextMs: number;
  /** Processes that share the limit. */
  members: number;
}

const count = () => z.number().nonnegative();
const replySchema = lazy(() =>
  z.object({
    epoch: z.string(),
    pauseMs: count(),
    granted: z.object({ singles: count(), pages: count() }),
    free: count(),
    nextMs: count(),
    members: count(),
  }),
);

/** The record in Redis of the slots of all processes with one key. */
export interface Ledger {
  /** @throws Error if Redis fails, or does not reply as the script does. */
  exchange(request: LedgerRequest): Promise<LedgerReply>;
}

export function openLedger(
  redis: RedisClient,
  key: string | undefined,
  { requests, reserved }: RateLimitSettings,
  { returnMs, leaseMs, graceMs }: LeaseTimings,
): Ledger {
  const name = keyName(key, "ledger");
  /** Distinguishes this process from the others. */
  const owner = randomId();
  const limit = { requests, pages: requests - reserved, returnMs, leaseMs, graceMs };
  return {
    async exchange(request) {
      const message = JSON.stringify({ ...request, owner, limit, newEpoch: randomId() });
      const reply = await LEDGER_SCRIPT.run(redis, [name], [message]);
      try {
        return replySchema().parse(JSON.parse(String(reply)));
      } catch {
        throw new Error("the reply of Redis is not one of the rate limiter's script");
      }
    },
  };
}

const randomId = () => randomBytes(9).toString("base64url");
