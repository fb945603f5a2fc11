import {
  type SlotCounts,
  type SlotKind,
  type SlotListener,
  type SlotSource,
  totalCountOf,
} from "../../client/for-add-ons.js";
import type { MonotonicClock } from "../../shared/time/clock.js";
import { afterReplyTimeout } from "../script.js";
import { countHeldSlots, createHeldSlots } from "./held-slots.js";
import { type ExchangeWithLedger, type LedgerReply, type LedgerRequest, NO_LEDGER_EPOCH } from "./ledger.js";
import {
  createReachability,
  type LastExchange,
  lastKnownStateOf,
  type OutageOptions,
  redisUnreachableError,
} from "./outage.js";

const ZERO_SLOT_COUNTS: SlotCounts = { single: 0, bulk: 0 };
/** A change waits this long for a call that asks for a slot: both share an exchange, and half of all exchanges are saved. */
const EXCHANGE_BATCH_MS = 5;
/** Time from a failed attempt to reach Redis to the next one, unless a call or the end of a request causes one before. */
const RECONNECT_INTERVAL_MS = 500;
/** How often waiting calls look for a free slot while there is no Redis. */
const OUTAGE_POLL_INTERVAL_MS = 25;

export interface RedisSlotsOptions extends OutageOptions {
  exchangeWithLedger: ExchangeWithLedger;
  clock: MonotonicClock;
  listener: SlotListener;
  warn(message: string): void;
}

/** An exchange under way. If it is overdue, Redis counts as unreachable, but its reply may still arrive. */
interface ExchangeUnderWay {
  isOverdue: boolean;
}

/**
 * The slots of a limit that several processes share, through a ledger in Redis. A slot takes four steps, each of which leads
 * only to the next one:
 *
 * 1. Ask. `setWanted` notes how many calls wait, and when an exchange with the ledger is due.
 * 2. Wait. One timer starts the next exchange. It is due when a call asks, soon after a request has ended, when the next
 *    slot may be free, and as a heartbeat, which extends the hold of the requests in flight.
 * 3. Be granted. The reply grants slots, and in the same turn the limiter takes them for its calls: `applyReply` notes them
 *    in `granted` and notifies it (`slotsChanged`), and it calls `take`, then `setWanted`. Slots that no call takes are given
 *    back with the next exchange.
 * 4. Report. When a request has ended, its slot has a time at which it is free again. Each exchange reports all slots that
 *    this process holds.
 *
 * In an outage of Redis, calls use a share of the limit, or fail (`Reachability`).
 *
 * The limit is exact because a slot is held until `returnMs` after the end of its request, a hold lasts a grace longer than
 * that, nothing is sent unless the last exchange began less than a grace before (`hasExpired`), and exchanges take place one
 * at a time, so that an old message never replaces a newer one. When exchanges take place decides only about cost and delay,
 * as long as a heartbeat is shorter than a grace.
 */
export function createRedisSlots(options: RedisSlotsOptions): SlotSource {
  const { exchangeWithLedger, settings, timings, clock, listener, warn, onStoreError } = options;
  const held = createHeldSlots();
  const reachability = createReachability(options);
  /** Slots for the calls that wait. */
  let wanted: SlotCounts = ZERO_SLOT_COUNTS;
  let exchange: ExchangeUnderWay | undefined;
  /** When the next exchange is due: a heartbeat after the last one began, or earlier if there is a reason (`exchangeBy`). */
  let exchangeAt = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: LastExchange | undefined;
  /** What the reply that is being applied grants. The limiter takes it while it is notified (`slotsChanged`). */
  let granted: SlotCounts = ZERO_SLOT_COUNTS;
  /** The state has changed since the last message to the ledger. If that fails, the next one reports it anyway. */
  let hasChanged = false;
  /** The end of a pause that the ledger does not know yet. */
  let pauseUntil: number | undefined;

  return {
    /** As of the last exchange, plus the slots that have become free here since. Reading it sends nothing. */
    get available() {
      const now = clock.now();
      const share = reachability.share(now);
      return share ? Math.max(0, share.slots - held.count(now)) : freeSlots(now);
    },
    earliestStart(_kind, ahead) {
      const now = clock.now();
      const share = reachability.share(now);
      if (share) return held.earliestStart(share, now);
      const first = Math.max(now, nextFreeAt());
      const rounds = Math.floor(totalCountOf(ahead) / settings.requests);
      return rounds === 0 ? first : first + rounds * settings.intervalMs;
    },
    setWanted(counts) {
      const before = wanted;
      wanted = counts;
      if (totalCountOf(wanted) > 0 && exchange?.isOverdue && onStoreError === "fail") {
        // The calls that began to wait since then would wait for the reply. Not within this call of the limiter, which ends
        // with it.
        queueMicrotask(() => failWaiting(new Error("Redis does not reply")));
      }
      if (wanted.single > before.single || wanted.bulk > before.bulk) {
        exchangeBy(Math.max(clock.now(), nextFreeAt()));
      }
      schedule();
    },
    /**
     * Not reported immediately: the ledger has recorded a slot that it granted, and a heartbeat extends its hold. A slot of
     * the share is reported once Redis can be reached.
     */
    take(kind) {
      const now = clock.now();
      const share = reachability.share(now);
      if (!takeGranted(kind) && !(share && held.mayTake(share, kind, now))) return undefined;
      const slot = held.add(kind, now);
      const end = (afterMs: number) => {
        slot.freeAt = clock.now() + afterMs;
        reportSoon();
      };
      return {
        endSent: () => end((reachability.share(clock.now()) ?? timings).returnMs),
        endUnsent: () => end(0),
        hasExpired: () => !reachability.share(clock.now()) && !isRecent(last?.sentAt),
      };
    },
    /** The other processes begin the pause with their next exchange. */
    pauseStarted(pauseMs) {
      pauseUntil = clock.now() + pauseMs;
      reportSoon();
    },
  };

  /** Slots that were free at the last exchange, or have become free here since. */
  function freeSlots(now: number): number {
    const heldCount = held.count(now);
    // What the others held at the last exchange is free again by now.
    if (!last || now - last.sentAt > timings.holdMs) return settings.requests - heldCount;
    return Math.min(settings.requests, last.reply.free + Math.max(0, last.heldCount - heldCount));
  }

  /** No slot is free before, as far as is known here; a time in the past if one is free. */
  function nextFreeAt(): number {
    if (!last || !reachability.isReachable || freeSlots(clock.now()) > 0) return -Infinity;
    return last.sentAt + last.reply.nextMs + 1;
  }

  /** Otherwise this process stood still: it may be taken for dead before the service counts what it sends now. */
  function isRecent(sentAt = -Infinity): boolean {
    return clock.now() - sentAt < timings.graceMs;
  }

  /** Brings the next exchange forward. */
  function exchangeBy(time: number): void {
    exchangeAt = Math.min(exchangeAt, time);
  }

  /** Starts the next exchange if it is due, or sets the timer that does. */
  function schedule(): void {
    clearTimeout(timer);
    const now = clock.now();
    const isWaiting = totalCountOf(wanted) > 0;
    const isPauseUnreported = pauseUntil !== undefined && pauseUntil > now;
    const isInUse = isWaiting || hasChanged || isPauseUnreported || held.count(now) > 0;
    // Nothing is left of an outage: the next call asks the ledger again.
    if (!isInUse && !exchange) reachability.forget();
    const nextAt = isInUse && !exchange ? exchangeAt : Infinity;
    if (nextAt <= now) return void startExchange();
    // Without Redis, waiting calls look for a slot of its share.
    const pollAt = isWaiting && reachability.share(now) ? now + OUTAGE_POLL_INTERVAL_MS : Infinity;
    const time = Math.min(nextAt, pollAt);
    if (time === Infinity) return;
    // Either leads here again: the limiter ends its round with `setWanted`.
    timer = setTimeout(pollAt < Infinity ? listener.slotsChanged : schedule, Math.ceil(time - now));
    // A heartbeat does not keep the process alive.
    if (!isWaiting && !hasChanged) timer.unref?.();
  }

  async function startExchange(): Promise<void> {
    const current: ExchangeUnderWay = { isOverdue: false };
    exchange = current;
    // One exchange for all that happens in this turn. `applyReply` may have led here while it notifies the limiter: what that
    // takes of the granted slots must be reported.
    await Promise.resolve();
    const sentAt = clock.now();
    const sentPauseUntil = pauseUntil;
    const request = createRequest(sentAt);
    exchangeAt = Infinity;
    hasChanged = false;
    const stopTimeout = afterReplyTimeout((error) => {
      current.isOverdue = true;
      handleFailure(request, sentAt, error);
    });
    const result = await exchangeWithLedger(request).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error }),
    );
    stopTimeout();
    exchange = undefined;
    if ("reply" in result) {
      // A later pause may have begun meanwhile.
      if (pauseUntil === sentPauseUntil) pauseUntil = undefined;
      applyReply(request, result.reply, sentAt, current);
    } else if (!current.isOverdue) handleFailure(request, sentAt, result.error);
    schedule();
  }

  function createRequest(now: number): LedgerRequest {
    // A process that was idle knows nothing that a new ledger lacks: its next call need not wait for a recovery.
    const recentEpoch = last && now - last.sentAt < timings.holdMs ? last.reply.epoch : undefined;
    return {
      knownEpoch: reachability.isShareUnreported ? NO_LEDGER_EPOCH : recentEpoch,
      heldForMs: held.heldForMs(now, timings.holdMs),
      wanted: reachability.share(now) ? ZERO_SLOT_COUNTS : wanted,
      pauseMs: Math.max(0, Math.ceil((pauseUntil ?? now) - now)),
    };
  }

  function applyReply(
    request: LedgerRequest,
    reply: LedgerReply,
    sentAt: number,
    { isOverdue }: ExchangeUnderWay,
  ): void {
    const now = clock.now();
    const { single, bulk } = reply.granted;
    // In an outage others may have used slots of their own. Without this, both exceed the limit.
    const isUsable = !reachability.share(now) && isRecent(sentAt);
    const heldCount = countHeldSlots(request) + single + bulk;
    last = { connectedAt: last?.connectedAt ?? sentAt, sentAt, heldCount, reply };
    // While an exchange is overdue, slots of the share are used that it has not reported.
    reachability.replied({ isLate: isOverdue, hasReportedShare: request.knownEpoch === NO_LEDGER_EPOCH });
    exchangeBy(sentAt + timings.heartbeatMs);
    // Less was granted than wanted: the next exchange takes place when the next slot can be free. From the reply on, which
    // came later than the ledger's count began: then it certainly is, while `nextFreeAt` is the earliest time.
    const isShort = isUsable && (single < request.wanted.single || bulk < request.wanted.bulk);
    if (isShort) exchangeBy(now + Math.max(reply.nextMs + 1, EXCHANGE_BATCH_MS));
    if (reply.pauseMs > 0) listener.pausedElsewhere(reply.pauseMs);
    granted = isUsable ? reply.granted : ZERO_SLOT_COUNTS;
    listener.slotsChanged();
    if (isShort && reply.free === 0) listener.slotsDelayed(nextFreeAt() - clock.now());
    // Slots that nobody took are free again with the next exchange.
    if (!isUsable || totalCountOf(granted) > 0) reportSoon();
    granted = ZERO_SLOT_COUNTS;
  }

  /** A bulk call uses a slot that was granted as one; a single call may use either. */
  function takeGranted(kind: SlotKind): boolean {
    const used = kind === "single" && granted.single > 0 ? "single" : "bulk";
    if (granted[used] === 0) return false;
    granted = { ...granted, [used]: granted[used] - 1 };
    return true;
  }

  function reportSoon(): void {
    hasChanged = true;
    exchangeBy(clock.now() + EXCHANGE_BATCH_MS);
    schedule();
  }

  function handleFailure(request: LedgerRequest, sentAt: number, error: unknown): void {
    const now = clock.now();
    exchangeBy(now + RECONNECT_INTERVAL_MS);
    // The slots that were held when the exchange began: slots that have become free since then are granted to no other
    // process.
    reachability.failed(now, lastKnownStateOf(last, countHeldSlots(request), sentAt, settings, timings));
    // Not if its owner closed the connection when all calls had ended.
    const warning = totalCountOf(wanted) > 0 || held.hasRequests ? reachability.takeWarning(error) : undefined;
    if (warning) warn(warning);
    if (onStoreError === "local") listener.slotsChanged();
    else failWaiting(error);
  }

  function failWaiting(cause: unknown): void {
    listener.slotsFailed(redisUnreachableError(cause));
  }
}
