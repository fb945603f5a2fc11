import {
  type Slot,
  type SlotCounts,
  type SlotListener,
  type SlotSource,
  totalCountOf,
} from "../../limiter/slot-source.js";
import type { MonotonicClock } from "../../time/clock.js";
import { afterReplyTimeout } from "../script.js";
import { countHeldSlots, HeldSlots } from "./held-slots.js";
import { type Ledger, type LedgerReply, type LedgerRequest, NO_LEDGER_EPOCH } from "./ledger.js";
import {
  type LastExchange,
  lastKnownStateOf,
  type OutageOptions,
  RedisOutage,
  redisUnreachableError,
} from "./outage.js";

const ZERO_SLOT_COUNTS: SlotCounts = { single: 0, bulk: 0 };
/** A change waits this long for a call that asks for a slot: both share an exchange, and half of all exchanges are saved. */
const EXCHANGE_BATCH_MS = 5;
/** Time until the next attempt to reach Redis again, unless a call or the end of a request causes one before. */
const RECONNECT_INTERVAL_MS = 500;
/** How often waiting calls look for a free slot while there is no Redis. */
const FALLBACK_POLL_INTERVAL_MS = 25;

export interface RedisSlotsOptions extends OutageOptions {
  ledger: Ledger;
  clock: MonotonicClock;
  listener: SlotListener;
}

/**
 * The slots of a limit that several processes share, through a ledger in Redis. A slot takes four steps, each of which leads
 * only to the next one:
 *
 * 1. Ask. `setDemand` notes how many calls wait, and when an exchange with the ledger is due.
 * 2. Wait. One timer starts the next exchange. It is due when a call asks, soon after a request has ended, when the next
 *    slot may be free, and as a heartbeat, which extends the hold of the requests in flight.
 * 3. Be granted. The reply grants slots, and the limiter takes them for its calls (`take`). Slots that no call takes are
 *    given back with the next exchange.
 * 4. Report. When a request has ended, its slot has a time at which it is free again. Each exchange reports all slots that
 *    this process holds.
 *
 * While Redis is unreachable, calls use a part of the limit, or fail (`RedisOutage`).
 *
 * The limit is exact because a slot is held until `returnMs` after the end of its request, a hold lasts a grace longer than
 * that, a grant is used within a grace, and exchanges take place one at a time, so that an old message never replaces a
 * newer one. When exchanges take place decides only about cost and delay, as long as a heartbeat is shorter than a grace.
 */
export class RedisSlots implements SlotSource {
  readonly #options: RedisSlotsOptions;
  readonly #clock: MonotonicClock;
  readonly #held = new HeldSlots();
  /** Granted by the last exchange, and not taken yet. */
  #granted: SlotCounts = ZERO_SLOT_COUNTS;
  /** The calls that wait. */
  #wanted: SlotCounts = ZERO_SLOT_COUNTS;
  /** The current exchange. If it is overdue, Redis counts as unreachable, but its reply may still arrive. */
  #exchange: { isOverdue: boolean } | undefined;
  /** When the next exchange is due. */
  #exchangeAt = -Infinity;
  /** The state has changed, and the ledger was not notified yet. */
  #hasChanged = false;
  /** The end of a pause that the ledger does not know yet. */
  #pauseUntil: number | undefined;
  #last: LastExchange | undefined;
  #outage: RedisOutage | undefined;
  /** Slots may have been used in an outage that the ledger does not know yet. */
  #usedFallback = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RedisSlotsOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** As of the last exchange, plus the slots that have become free here since. Reading it sends nothing. */
  get available(): number {
    const { settings, timings } = this.#options;
    const now = this.#clock.now();
    const held = this.#held.count(now);
    const quota = this.#outage?.quota(now);
    if (quota) return Math.max(0, quota.slots - held);
    // What the others held at the last exchange is free again by now.
    if (!this.#last || now - this.#last.sentAt > timings.holdMs) return settings.requests - held;
    return Math.min(settings.requests, this.#last.reply.free + Math.max(0, this.#last.held - held));
  }

  take(isBulk: boolean): Slot | undefined {
    const now = this.#clock.now();
    const fallback = this.#outage?.quota(now);
    if (!this.#takeGranted(isBulk) && !(fallback && this.#held.isBelow(fallback, isBulk, now))) return undefined;
    const slot = this.#held.add(isBulk ? "bulk" : "single");
    const end = (afterMs: number) => {
      slot.freeAt = this.#clock.now() + afterMs;
      this.#reportSoon();
    };
    return {
      endSent: () => end((this.#outage?.quota(this.#clock.now()) ?? this.#options.timings).returnMs),
      endUnsent: () => end(0),
    };
  }

  earliestStart(_isBulk: boolean, ahead: SlotCounts): number {
    const { requests, intervalMs } = this.#options.settings;
    const now = this.#clock.now();
    const quota = this.#outage?.quota(now);
    if (quota) return this.#held.earliestStart(quota, now);
    const first = Math.max(now, this.#nextFreeAt);
    const rounds = Math.floor(totalCountOf(ahead) / requests);
    return rounds === 0 ? first : first + rounds * intervalMs;
  }

  setDemand(waiting: SlotCounts): void {
    const before = this.#wanted;
    this.#wanted = waiting;
    if (totalCountOf(waiting) > 0 && this.#exchange?.isOverdue && this.#options.onStoreError === "fail") {
      const error = redisUnreachableError(new Error("Redis does not reply"));
      queueMicrotask(() => this.#options.listener.slotsFailed(error));
    }
    if (waiting.single > before.single || waiting.bulk > before.bulk) {
      this.#exchangeAt = Math.min(this.#exchangeAt, Math.max(this.#clock.now(), this.#nextFreeAt));
    }
    this.#schedule();
  }

  /** The other processes begin the pause with their next exchange. */
  pauseStarted(pauseMs: number): void {
    this.#pauseUntil = this.#clock.now() + pauseMs;
    this.#reportSoon();
  }

  /** No slot is free before, as far as the ledger knew; a time in the past if one was free. */
  get #nextFreeAt(): number {
    return !this.#outage && this.#last?.reply.free === 0 ? this.#last.sentAt + this.#last.reply.nextMs + 1 : -Infinity;
  }

  /** A slot for a page was granted as one; a single call may use either. */
  #takeGranted(isBulk: boolean): boolean {
    const kind = isBulk || this.#granted.single === 0 ? "bulk" : "single";
    if (this.#granted[kind] === 0) return false;
    this.#granted = { ...this.#granted, [kind]: this.#granted[kind] - 1 };
    return true;
  }

  #reportSoon(): void {
    this.#hasChanged = true;
    this.#exchangeAt = Math.min(this.#exchangeAt, this.#clock.now() + EXCHANGE_BATCH_MS);
    this.#schedule();
  }

  /** Starts the next exchange if it is due, or sets the timer that does. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const now = this.#clock.now();
    const isWaiting = totalCountOf(this.#wanted) > 0;
    const canExchange = !this.#exchange && (isWaiting || this.#hasChanged || this.#held.count(now) > 0);
    const exchangeAt = canExchange ? this.#exchangeAt : Infinity;
    if (exchangeAt <= now) return void this.#startExchange();
    // Without Redis, waiting calls look for a slot of the fallback.
    const pollAt = isWaiting && this.#outage?.quota(now) ? now + FALLBACK_POLL_INTERVAL_MS : Infinity;
    const time = Math.min(exchangeAt, pollAt);
    if (time === Infinity) return;
    const next = pollAt < Infinity ? () => this.#options.listener.slotsChanged() : () => this.#schedule();
    this.#timer = setTimeout(next, Math.ceil(time - now));
    // A heartbeat does not keep the process alive.
    if (!isWaiting && !this.#hasChanged) this.#timer.unref?.();
  }

  async #startExchange(): Promise<void> {
    const { ledger, timings } = this.#options;
    const exchange = { isOverdue: false };
    this.#exchange = exchange;
    // One exchange for all that happens at this moment.
    await Promise.resolve();
    const sentAt = this.#clock.now();
    const request = this.#nextRequest(sentAt);
    this.#exchangeAt = sentAt + timings.heartbeatMs;
    this.#hasChanged = false;
    const stopTimeout = afterReplyTimeout((error) => {
      exchange.isOverdue = true;
      this.#handleFailure(request, error);
    });
    const result = await ledger.exchange(request).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error }),
    );
    stopTimeout();
    this.#exchange = undefined;
    if ("reply" in result) this.#applyReply(request, result.reply, sentAt);
    else if (!exchange.isOverdue) this.#handleFailure(request, result.error);
    this.#schedule();
  }

  #nextRequest(now: number): LedgerRequest {
    const { holdMs } = this.#options.timings;
    // A process that was idle knows nothing that a new ledger lacks: its next call need not wait until slots are returned.
    const isRecent = this.#last && now - this.#last.sentAt < holdMs;
    return {
      knownEpoch: this.#usedFallback ? NO_LEDGER_EPOCH : isRecent ? this.#last?.reply.epoch : undefined,
      held: this.#held.report(now, holdMs),
      wanted: this.#outage?.quota(now) ? ZERO_SLOT_COUNTS : this.#wanted,
      pauseMs: Math.max(0, Math.ceil((this.#pauseUntil ?? now) - now)),
    };
  }

  #applyReply(request: LedgerRequest, reply: LedgerReply, sentAt: number): void {
    const { timings, listener } = this.#options;
    const now = this.#clock.now();
    const { single, bulk } = reply.granted;
    // A process that stood still may have been taken for dead, and its slots granted to others; and in an outage others
    // may have used slots of their own. Without this, both exceed the limit.
    const isUsable = !this.#outage?.quota(now) && now - sentAt < timings.graceMs;
    const held = countHeldSlots(request) + single + bulk;
    this.#last = { connectedAt: this.#last?.connectedAt ?? sentAt, sentAt, held, reply };
    this.#outage = undefined;
    if (request.knownEpoch === NO_LEDGER_EPOCH) this.#usedFallback = false;
    if (request.pauseMs > 0) this.#pauseUntil = undefined;
    const isRefused = isUsable && (single < request.wanted.single || bulk < request.wanted.bulk);
    if (isRefused) this.#exchangeAt = Math.min(this.#exchangeAt, now + Math.max(reply.nextMs + 1, EXCHANGE_BATCH_MS));
    if (reply.pauseMs > 0) listener.pausedElsewhere(reply.pauseMs);
    this.#granted = isUsable ? reply.granted : ZERO_SLOT_COUNTS;
    listener.slotsChanged();
    if (isRefused && reply.free === 0) listener.slotsDelayed(this.#nextFreeAt - this.#clock.now());
    // Slots that nobody took are free again with the next exchange.
    if (!isUsable || totalCountOf(this.#granted) > 0) this.#reportSoon();
    this.#granted = ZERO_SLOT_COUNTS;
  }

  #handleFailure(request: LedgerRequest, error: unknown): void {
    const { onStoreError, timings, listener } = this.#options;
    const now = this.#clock.now();
    this.#exchangeAt = now + RECONNECT_INTERVAL_MS;
    // The slots that were held when the exchange began: slots that were returned since then are granted to no other
    // process.
    const state = lastKnownStateOf(this.#last, countHeldSlots(request), now, timings);
    this.#outage ??= new RedisOutage(this.#options, now, state);
    // Not if its owner closed the connection when all calls had ended.
    const hasCalls = totalCountOf(this.#wanted) > 0 || this.#held.hasRequests;
    if (hasCalls) this.#outage.warnOnce(error);
    if (onStoreError === "local") {
      this.#usedFallback = true;
      listener.slotsChanged();
    } else {
      listener.slotsFailed(redisUnreachableError(error));
    }
  }
}
