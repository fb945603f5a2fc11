import { randomBytes } from "node:crypto";
import * as z from "zod";
import { type RateLimitSettings, type SlotCounts, safetyMarginMs } from "../../client/for-add-ons.js";
import { lazy } from "../../shared/field.js";
import { type RedisClient, redisKeyName } from "../redis-client.js";
import { runLedgerScript } from "./ledger-script.js";

const MIN_GRACE_MS = 1_000;
const MAX_GRACE_MS = 5_000;
const HEARTBEATS_PER_GRACE = 4;

/** The times of one shared limit, in ms. */
export interface HoldTimings {
  /** A slot is free again this long after its request has ended. */
  returnMs: number;
  /**
   * For how long a message of a process counts: it uses what it was granted, and the others leave it its part. So a ledger
   * recovers for this long, until all have reported.
   */
  graceMs: number;
  /** A process is taken for dead this long after its last message; the slots of its requests in flight are free then. */
  holdMs: number;
  /** How often a process reports while it holds slots or waits for some. */
  heartbeatMs: number;
}

export function createHoldTimings({ intervalMs }: Pick<RateLimitSettings, "intervalMs">): HoldTimings {
  const returnMs = Math.ceil(intervalMs + safetyMarginMs(intervalMs));
  const graceMs = Math.ceil(Math.min(MAX_GRACE_MS, Math.max(MIN_GRACE_MS, intervalMs / 2)));
  return {
    returnMs,
    graceMs,
    // A dead process may have sent its last request up to a grace after its last message.
    holdMs: returnMs + graceMs,
    heartbeatMs: graceMs / HEARTBEATS_PER_GRACE,
  };
}

/** The epoch of slots that were used while Redis was unreachable. */
export const NO_LEDGER_EPOCH = "none";

/**
 * All slots that a process holds, and those that it requests. Each message contains everything, so a lost message needs
 * no repair.
 */
export interface LedgerRequest {
  /**
   * The epoch of the ledger that has recorded the slots of this process: that of the last exchange, or `NO_LEDGER_EPOCH`.
   * `undefined` if none of these slots can be in use any more.
   */
  knownEpoch: string | undefined;
  /** For how many ms each slot is still held; for a request in flight, if this process is silent from now on. */
  heldForMs: { single: number[]; bulk: number[] };
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
  processes: number;
}

const countSchema = () => z.number().nonnegative();
const ledgerReplySchema = lazy(() =>
  z.object({
    epoch: z.string(),
    pauseMs: countSchema(),
    granted: z.object({ single: countSchema(), bulk: countSchema() }),
    free: countSchema(),
    nextMs: countSchema(),
    processes: countSchema(),
  }),
);

/**
 * One exchange with the ledger, the record in Redis of the slots of all processes with one key.
 *
 * @throws Error if Redis fails, or does not reply as the script does.
 */
export type ExchangeWithLedger = (request: LedgerRequest) => Promise<LedgerReply>;

export function createLedgerExchange(
  redis: RedisClient,
  key: string | undefined,
  { requests, reserved }: RateLimitSettings,
  { returnMs, holdMs, graceMs }: HoldTimings,
): ExchangeWithLedger {
  const name = redisKeyName(key, "ledger");
  /** Distinguishes this process from the others. */
  const processId = createRandomId();
  const limit = { requests, bulk: requests - reserved, returnMs, holdMs, graceMs };
  return async (request) => {
    const message = JSON.stringify({ ...request, process: processId, limit, newEpoch: createRandomId() });
    const reply = await runLedgerScript(redis, [name], [message]);
    try {
      return ledgerReplySchema().parse(JSON.parse(String(reply)));
    } catch {
      throw new Error("the reply of Redis is not one of the rate limiter's script");
    }
  };
}

const createRandomId = () => randomBytes(9).toString("base64url");
