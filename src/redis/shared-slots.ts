import { randomBytes } from "node:crypto";
import * as z from "zod";
import {
  marginMs,
  type RateLimitSettings,
  type Slot,
  type SlotSource,
  SlotSourceFailed,
  type Wait,
} from "../client/for-add-ons.js";
import { lazy } from "../shared/schema.js";
import { type MonotonicClock, startTimer } from "../shared/time/clock.js";
import { messageOf } from "../shared/unknown.js";
import {
  type RedisClient,
  RedisRefusal,
  readReply,
  redisKeyName,
  runScript,
  SLOTS_TIMEOUT_MS,
} from "./redis-client.js";

/** How long after its grant a slot may be used, in ms. A process that stood still for longer asks for another slot. */
const SEND_WITHIN_MS = 30_000;
/** If the end of a request is not reported within this time after the grant, in ms, its process counts as dead. */
const MAX_REQUEST_MS = 120_000;
/** Slots that have ended are reported with the next exchange, or after this time, in ms. */
const REPORT_AFTER_MS = 5;
/**
 * How often a waiting process asks at least, in ms. A slot that another process returns unused is free earlier than
 * expected.
 */
const MAX_ASK_AGAIN_MS = 500;
const MAX_JITTER_MS = 20;

/**
 * The script of one exchange: reports slots that have ended, and takes a slot. Only the clock of Redis counts. If that
 * clock is set back, the time of the script goes on from the last time. If it is set forward, slots become free too
 * early, once.
 *
 * `KEYS[1]` is a sorted set: the slots in use, each with the time at which it is free again. `KEYS[2]` is a hash with
 * the state:
 *
 *   epoch        the name of this window
 *   since        the time at which the window began
 *   granted      how many slots were granted in the window
 *   pausedUntil  the end of the pause
 *   last         the time of the last exchange
 *   ahead        how far the time of the script is ahead of the clock of Redis
 *
 * Redis has lost its data, or has gone back to older data, if a process knows another epoch, or more granted slots than
 * Redis. Then a new epoch begins. Nobody knows what was sent in the last interval, so all processes that have sent
 * before pause for one interval.
 */
const EXCHANGE = `
local limit, leaveFree, interval, lease = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local id, wanted, known, knownGranted, pauseMs = ARGV[5], ARGV[6] == '1', ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local slots, state = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Redis' clock may be set back: time goes on from the last one.
local ahead, last = unpack(redis.call('HMGET', state, 'ahead', 'last'))
ahead, last = tonumber(ahead or 0), tonumber(last or 0)
now = now + ahead
if now < last then ahead, now = ahead + last - now, last end

local isOlder = known == redis.call('HGET', state, 'epoch') and knownGranted > tonumber(redis.call('HGET', state, 'granted'))
if isOlder or redis.call('HEXISTS', state, 'epoch') == 0 then
  redis.call('HSET', state, 'epoch', id, 'since', now, 'granted', 0, 'pausedUntil', 0)
end
local epoch, since, pausedUntil = unpack(redis.call('HMGET', state, 'epoch', 'since', 'pausedUntil'))
pausedUntil = tonumber(pausedUntil)
-- Further ahead than any pause: Redis' clock was set back.
if pausedUntil > now + ${3_600_000} then pausedUntil = 0 end
if known ~= '' and known ~= epoch then pausedUntil = math.max(pausedUntil, since + interval) end
if pausedUntil <= now then pausedUntil = pauseMs > 0 and now + pauseMs or 0 end
redis.call('HSET', state, 'pausedUntil', pausedUntil, 'ahead', ahead, 'last', now)

for i = 10, #ARGV, 2 do
  if tonumber(ARGV[i + 1]) > 0 then redis.call('ZADD', slots, now + ARGV[i + 1], ARGV[i]) else redis.call('ZREM', slots, ARGV[i]) end
end
redis.call('ZREMRANGEBYSCORE', slots, 0, now)
-- Later than any slot can be.
redis.call('ZREMRANGEBYSCORE', slots, now + lease + 1, '+inf')

local free = math.max(0, limit - redis.call('ZCARD', slots))
local granted = wanted and pausedUntil <= now and free > leaveFree
if granted then
  redis.call('ZADD', slots, now + lease, id)
  redis.call('HINCRBY', state, 'granted', 1)
  free = free - 1
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, lease + math.max(0, pausedUntil - now)) end

local nextMs = 0
if free <= leaveFree then
  local blocking = redis.call('ZRANGE', slots, leaveFree - free, leaveFree - free, 'WITHSCORES')
  nextMs = blocking[2] and math.min(blocking[2] - now, interval) or 0
end
local restMs = math.max(0, pausedUntil - now)
return { epoch, granted and 1 or 0, free, math.max(nextMs, restMs), restMs, tonumber(redis.call('HGET', state, 'granted')) }
`;

/** The caller's client may return numbers as strings (`stringNumbers`). */
const number = () => z.coerce.number();

/**
 * The reply: the epoch; whether a slot was granted; the number of free slots; the time until the next slot can be free,
 * in ms; the remaining time of the pause, in ms; the number of slots granted in this epoch.
 */
const replySchema = lazy(() => z.tuple([z.string(), number(), number(), number(), number(), number()]));

/**
 * Creates the source of slots that several processes share: a sliding window in Redis. A slot is free again one
 * interval after its request has ended. If the end is never reported, because the process was killed, the slot is free
 * again `MAX_REQUEST_MS` and an interval after its grant. If Redis cannot be reached, calls fail without being sent.
 */
export function createSharedSlots(
  { redis, key }: { redis: RedisClient; key?: string | undefined },
  settings: RateLimitSettings,
  clock: MonotonicClock,
): SlotSource {
  const { requests, intervalMs } = settings;
  const holdMs = Math.ceil(intervalMs + marginMs(intervalMs));
  const leaseMs = holdMs + MAX_REQUEST_MS;
  const keys = [redisKeyName(key, "slots"), redisKeyName(key, "window")];
  const processId = randomBytes(9).toString("base64url");
  let exchanges = 0;
  let last = { epoch: "", at: -Infinity, free: requests, allGranted: 0 };
  /** Until this time, no slot is free for requests that must leave at least `leaveFree` slots free. */
  let wait = { until: -Infinity, leaveFree: 0, isPause: false };
  /**
   * Slots of this process that have ended and are not reported yet, with the time at which each is free again, by the
   * clock of this process.
   */
  let ended: { id: string; freeAt: number }[] = [];
  let pauseUntil = -Infinity;
  let isReportDue = false;

  return {
    async take(leaveFree) {
      const now = clock.now();
      const isKnownWait = wait.until > now && leaveFree >= wait.leaveFree;
      if (isKnownWait && now - last.at < MAX_ASK_AGAIN_MS) return waitFrom(now);
      const slot = await exchange(true, leaveFree);
      return slot ?? waitFrom(clock.now());
    },
    waitMs(ahead) {
      const isKnown = wait.isPause || ahead >= wait.leaveFree;
      return (isKnown ? Math.max(0, wait.until - clock.now()) : 0) + Math.floor(ahead / requests) * holdMs;
    },
    /** The number at the last exchange. Reading it sends nothing. */
    get available() {
      return clock.now() - last.at > holdMs ? requests : last.free;
    },
    pause(ms) {
      pauseUntil = clock.now() + ms;
      reportSoon();
    },
    flush: report,
  };

  function waitFrom(now: number): Wait {
    const restMs = Math.max(1, wait.until - now);
    if (wait.isPause) return { waitMs: restMs, isPause: true };
    return { waitMs: Math.min(restMs, MAX_ASK_AGAIN_MS) + Math.random() * MAX_JITTER_MS };
  }

  function reportSoon(): void {
    if (isReportDue) return;
    isReportDue = true;
    startTimer(REPORT_AFTER_MS, () => {
      isReportDue = false;
      void report();
    });
  }

  /** Reports the end of slots. A slot that is not reported becomes free at the end of its lease. */
  async function report(): Promise<void> {
    if (ended.length > 0 || pauseUntil > clock.now()) await exchange(false, 0).catch(() => {});
  }

  async function exchange(isWanted: boolean, leaveFree: number): Promise<Slot | undefined> {
    exchanges += 1;
    const sentAt = clock.now();
    const id = `${processId}.${exchanges}`;
    const reported = ended;
    ended = [];
    // After a whole lease without an exchange, no slot that this process knows of is in use any more.
    const known = sentAt - last.at < leaseMs ? last.epoch : "";
    const reportedPause = pauseUntil;
    const pauseMs = Math.max(0, Math.ceil(reportedPause - sentAt));
    const slots = reported.flatMap((slot) => [slot.id, Math.max(0, Math.ceil(slot.freeAt - sentAt))]);
    const values = [
      requests,
      leaveFree,
      holdMs,
      leaseMs,
      id,
      isWanted ? 1 : 0,
      known,
      last.allGranted,
      pauseMs,
      ...slots,
    ];
    try {
      const reply = readReply(replySchema(), await runScript(redis, EXCHANGE, keys, values, SLOTS_TIMEOUT_MS));
      const [epoch, granted, free, nextMs, restMs, allGranted] = reply;
      // The pause was reported, unless another pause has begun meanwhile.
      if (pauseUntil === reportedPause) pauseUntil = -Infinity;
      last = { epoch, at: sentAt, free, allGranted };
      if (granted === 0 && isWanted) wait = { until: sentAt + nextMs + 1, leaveFree, isPause: restMs > 0 };
      else if (granted === 1) wait = { until: -Infinity, leaveFree: 0, isPause: false };
      return granted === 1 ? slotOf(id, sentAt) : undefined;
    } catch (error) {
      // The script may still run later. So the ended slots are reported again, and a slot that the script may take is
      // returned.
      ended.push(...reported, ...(isWanted ? [{ id, freeAt: -Infinity }] : []));
      const what = error instanceof RedisRefusal ? "is refused by" : "cannot reach";
      throw new SlotSourceFailed(`the shared rate limiter ${what} Redis: ${messageOf(error)}`, { cause: error });
    }
  }

  /** `grantedAt`: a time before the grant. The exchange was sent then, so a late reply makes no difference. */
  function slotOf(id: string, grantedAt: number): Slot {
    return {
      end(sent) {
        ended.push({ id, freeAt: sent ? clock.now() + holdMs : -Infinity });
        if (!sent) wait.until = -Infinity;
        reportSoon();
      },
      hasExpired: () => clock.now() - grantedAt > SEND_WITHIN_MS,
    };
  }
}
