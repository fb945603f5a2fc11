import { ConnectionError } from "../../errors/index.js";
import type { MonotonicClock } from "../../limiter/monotonic-clock.js";
import type { GrantedSlot, QueueCounts, SlotListener, SlotSource } from "../../limiter/slot-source.js";
import { startReplyTimeout } from "../reply-timeout.js";
import type { LastKnownState } from "./fallback-quota.js";
import { HeldSlots, type SlotKind } from "./held-slots.js";
import type { Ledger, LedgerReply, LedgerRequest } from "./ledger.js";
import { Outage, type OutageOptions } from "./outage.js";

const NEVER = Number.POSITIVE_INFINITY;

export interface RedisSlotsOptions extends OutageOptions {
  ledger: Ledger;
  clock: MonotonicClock;
  listener: SlotListener;
}

interface Exchange {
  request: LedgerRequest;
  sentAt: number;
  /** It was given up; the reply may still arrive. */
  isOverdue: boolean;
}

/**
 * The slots of a limit that several processes share, through a ledger in Redis. One exchange at a time: it reports what
 * this process holds, asks for slots if calls wait, and renews the lease of the requests in flight.
 */
export class RedisSlots implements SlotSource {
  readonly #options: RedisSlotsOptions;
  readonly #clock: MonotonicClock;
  readonly #held = new HeldSlots();
  readonly #outage: Outage;
  /** Granted by the last exchange, and not taken yet. */
  #granted = { singles: 0, pages: 0 };
  #waiting: QueueCounts = { all: 0, pages: 0 };
  #exchange: Exchange | "queued" | undefined;
  #last: (Exchange & { reply: LedgerReply; held: number }) | undefined;
  /** When the first exchange began that succeeded. */
  #connectedAt = NEVER;
  /** When the ledger has to know what has changed here. */
  #reportAt = NEVER;
  /** Before this time the ledger has no slots of a kind that it refused. */
  #retryAt = -NEVER;
  #heartbeatAt = -NEVER;
  /** The ledger does not know yet that slots may have been used without it. */
  #usedFallback = false;
  /** The end of a pause that the ledger does not know yet. */
  #pauseUntil: number | undefined;
  #stopTimer = () => {};

  constructor(options: RedisSlotsOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#outage = new Outage(options);
  }

  /** As of the last exchange, and what has become free here since: reading it sends nothing. */
  get available(): number {
    const { settings, timings } = this.#options;
    const now = this.#clock.now();
    const held = this.#held.count(now);
    const quota = this.#outage.quota(now);
    if (quota) return Math.max(0, quota.slots - held);
    // What the others held at the last exchange is free again by now.
    if (!this.#last || now - this.#last.sentAt > timings.leaseMs) return settings.requests - held;
    return Math.min(settings.requests, this.#last.reply.free + Math.max(0, this.#last.held - held));
  }

  take(bulk: boolean): GrantedSlot | undefined {
    if (!this.#takeGranted(bulk) && !this.#hasFallbackSlot(bulk)) return undefined;
    const kind = bulk ? "pages" : "singles";
    this.#held.take(kind);
    return {
      release: () => {
        const now = this.#clock.now();
        const { returnMs } = this.#outage.quota(now) ?? this.#options.timings;
        this.#held.release(kind, now + returnMs);
        this.#report(this.#options.timings.batchMs);
      },
      returnUnused: () => {
        this.#held.returnUnused(kind);
        this.#report(0);
      },
    };
  }

  earliestStart(_bulk: boolean, ahead: QueueCounts): number {
    const { requests, intervalMs } = this.#options.settings;
    const now = this.#clock.now();
    const quota = this.#outage.quota(now);
    if (quota) {
      if (this.#held.count(now) < quota.slots) return now;
      return Math.min(this.#held.nextReturn, now + quota.returnMs);
    }
    const { reply, sentAt = now } = this.#last ?? {};
    const isUsedUp = reply?.free === 0 && reply.settlingMs === 0;
    const first = isUsedUp ? Math.max(now, sentAt + reply.nextMs) : now;
    const rounds = Math.floor(ahead.all / requests);
    return rounds === 0 ? first : first + rounds * intervalMs;
  }

  setDemand(waiting: QueueCounts): void {
    const { onStoreError, listener, timings } = this.#options;
    this.#waiting = waiting;
    if (waiting.all > 0 && onStoreError === "fail" && this.#isOverdue) {
      queueMicrotask(() => listener.slotsFailed(noSlotError(new Error("Redis does not reply"))));
    }
    // The ledger keeps slots for calls that do not wait any more.
    if (waiting.all === 0 && (this.#wasRefused("singles") || this.#wasRefused("pages"))) this.#report(timings.batchMs);
    else this.#schedule();
  }

  pauseStarted(delayMs: number): void {
    this.#pauseUntil = this.#clock.now() + delayMs;
    this.#report(0);
  }

  /** A slot for a page was granted as one; a single call may use either. */
  #takeGranted(bulk: boolean): boolean {
    const kind = bulk || this.#granted.singles === 0 ? "pages" : "singles";
    if (this.#granted[kind] === 0) return false;
    this.#granted[kind] -= 1;
    return true;
  }

  #hasFallbackSlot(bulk: boolean): boolean {
    const now = this.#clock.now();
    const quota = this.#outage.quota(now);
    if (!quota || this.#held.count(now) >= quota.slots) return false;
    return !bulk || this.#held.pages < quota.pages;
  }

  get #isOverdue(): boolean {
    return typeof this.#exchange === "object" && this.#exchange.isOverdue;
  }

  #wasRefused(kind: SlotKind): boolean {
    return this.#last !== undefined && this.#last.reply.granted[kind] < this.#last.request.wanted[kind];
  }

  /** Reports a change, together with others that come within this time. */
  #report(withinMs: number): void {
    this.#reportAt = Math.min(this.#reportAt, this.#clock.now() + withinMs);
    this.#schedule();
  }

  /** One timer at most: for the next exchange, and in an outage for the next slot. */
  #schedule(): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    const now = this.#clock.now();
    const exchangeAt = this.#nextExchange(now);
    if (exchangeAt <= now) this.#queueExchange();
    const time = Math.min(exchangeAt > now ? exchangeAt : NEVER, this.#nextFallbackSlot(now));
    if (time === NEVER) return;
    const wake = () => {
      if (this.#outage.isOn) this.#options.listener.slotsChanged();
      this.#schedule();
    };
    const keepsAlive = this.#waiting.all > 0 || (this.#reportAt <= time && !this.#outage.isOn);
    this.#stopTimer = keepsAlive ? this.#clock.startTimerAt(time, wake) : startBackgroundTimer(time - now, wake);
  }

  #nextExchange(now: number): number {
    if (this.#exchange) return NEVER;
    const isWaiting = this.#waiting.all > 0;
    const isActive = isWaiting || this.#held.count(now) > 0;
    if (this.#outage.isOn) {
      if (isWaiting && !this.#outage.usesFallback) return now;
      // What is held here counts against the limit as soon as others reach the ledger again.
      return isActive ? this.#outage.nextAttemptAt : NEVER;
    }
    const { all, pages } = this.#waiting;
    const isWorthAsking = (all > pages && !this.#wasRefused("singles")) || (pages > 0 && !this.#wasRefused("pages"));
    const requestAt = isWorthAsking ? now : this.#retryAt;
    return Math.min(isWaiting ? requestAt : NEVER, this.#reportAt, isActive ? this.#heartbeatAt : NEVER);
  }

  #nextFallbackSlot(now: number): number {
    if (!this.#outage.usesFallback || this.#waiting.all === 0) return NEVER;
    const { quotaGrowsAt } = this.#outage;
    const slotAt = this.#hasFallbackSlot(this.#waiting.all === this.#waiting.pages) ? now : this.#held.nextReturn;
    return Math.max(now + 1, Math.min(slotAt, quotaGrowsAt > now ? quotaGrowsAt : NEVER));
  }

  /** One exchange for all that happens at this moment. */
  #queueExchange(): void {
    this.#exchange = "queued";
    queueMicrotask(() => void this.#startExchange());
  }

  async #startExchange(): Promise<void> {
    const exchange = { request: this.#nextRequest(), sentAt: this.#clock.now(), isOverdue: false };
    this.#exchange = exchange;
    this.#heartbeatAt = exchange.sentAt + this.#options.timings.heartbeatMs;
    this.#reportAt = NEVER;
    const stopTimeout = startReplyTimeout((error) => {
      exchange.isOverdue = true;
      this.#failed(exchange, error);
    });
    const result = await this.#options.ledger.exchange(exchange.request).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
    stopTimeout();
    this.#exchange = undefined;
    if ("reply" in result) this.#replied(exchange, result.reply);
    else if (!exchange.isOverdue) this.#failed(exchange, result.error);
    this.#schedule();
  }

  #nextRequest(): LedgerRequest {
    const now = this.#clock.now();
    this.#held.count(now);
    const { all, pages } = this.#outage.usesFallback ? { all: 0, pages: 0 } : this.#waiting;
    const isRecent = this.#last && now - this.#last.sentAt < this.#options.timings.leaseMs;
    return {
      ...this.#held.report(now),
      epoch: isRecent ? this.#last?.reply.epoch : undefined,
      wanted: { singles: all - pages, pages },
      pauseMs: Math.max(0, Math.ceil((this.#pauseUntil ?? now) - now)),
      usedFallback: this.#usedFallback,
    };
  }

  #replied(exchange: Exchange, reply: LedgerReply): void {
    const { timings, listener } = this.#options;
    const { request, sentAt } = exchange;
    const now = this.#clock.now();
    // A process that stood still may have been taken for dead, and its slots granted to others; and in an outage others
    // may have used slots of their own. Slots that are not used are free again with the next message.
    const isUsable = !exchange.isOverdue && !this.#outage.usesFallback && now - sentAt < timings.graceMs;
    const { singles, pages } = reply.granted;
    this.#last = { ...exchange, reply, held: this.#held.count(sentAt) + singles + pages };
    this.#connectedAt = Math.min(this.#connectedAt, sentAt);
    this.#outage.end();
    if (request.usedFallback) this.#usedFallback = false;
    if (request.pauseMs > 0) this.#pauseUntil = undefined;
    this.#granted = isUsable ? { singles, pages } : { singles: 0, pages: 0 };
    // While the ledger is settling, it only grants again what this process held.
    const nextMs = reply.settlingMs > 0 ? Math.min(reply.settlingMs, this.#held.nextReturn - now) : reply.nextMs;
    this.#retryAt = now + (isUsable ? Math.max(nextMs + 1, timings.batchMs) : 0);
    if (reply.pauseMs > 0) listener.pausedElsewhere(reply.pauseMs);
    listener.slotsChanged();
    const isShort = isUsable && (this.#wasRefused("singles") || this.#wasRefused("pages"));
    if (isShort && reply.free === 0 && reply.settlingMs === 0) {
      listener.slotsDelayed(reply.nextMs - (this.#clock.now() - sentAt));
    }
    if (!isUsable || this.#granted.singles + this.#granted.pages > 0) this.#report(0);
    this.#granted = { singles: 0, pages: 0 };
  }

  #failed({ request }: Exchange, error: Error): void {
    const { listener } = this.#options;
    const now = this.#clock.now();
    this.#outage.failed(now, this.#lastKnownState(request, now));
    // Not if its owner closed the connection when all calls had ended.
    if (this.#waiting.all > 0 || this.#held.inFlight > 0) this.#outage.report(error);
    if (this.#outage.usesFallback) {
      this.#usedFallback = true;
      listener.slotsChanged();
    } else {
      listener.slotsFailed(noSlotError(error));
    }
  }

  /** What was held when the exchange failed: slots that came back since then are granted to no other process. */
  #lastKnownState({ inFlight, returning }: LedgerRequest, now: number): LastKnownState {
    const held = inFlight.singles + inFlight.pages + returning.singles.length + returning.pages.length;
    if (!this.#last) return { members: undefined, wasConnected: false, held };
    const { leaseMs, returnMs } = this.#options.timings;
    const { reply, sentAt } = this.#last;
    // One that has just been started may be the first of many.
    const knowsOthers = now - sentAt < leaseMs && (reply.members > 1 || now - this.#connectedAt > returnMs);
    return { members: knowsOthers ? reply.members : undefined, wasConnected: true, held };
  }
}

/** What a call rejects with that cannot have a slot. */
function noSlotError(cause: Error): ConnectionError {
  const message = `the shared rate limiter cannot reach Redis, nothing was sent: ${cause.message}`;
  return new ConnectionError(message, { cause });
}

/** A timer that does not keep the process alive. */
function startBackgroundTimer(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, delayMs);
  timer.unref?.();
  return () => clearTimeout(timer);
}
