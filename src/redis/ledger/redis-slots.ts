import { ConnectionError } from "../../errors/index.js";
import type { Clock } from "../../limiter/clock.js";
import type { RateLimitSettings } from "../../limiter/rate-limit-options.js";
import type { Crowd, SlotListener, SlotSource, TakenSlot } from "../../limiter/slot-source.js";
import { startTimer } from "../../time/timer.js";
import { type FallbackQuota, fallbackQuota, type LastKnownState } from "./fallback-quota.js";
import { HeldSlots } from "./held-slots.js";
import type { LeaseTimings } from "./lease-timings.js";
import type { Ledger, LedgerReply, LedgerRequest } from "./ledger.js";

/** If Redis does not reply for this long, it is unreachable. */
const REPLY_TIMEOUT_MS = 1_000;
/** Time between two attempts to reach Redis again. */
const RECONNECT_MS = 500;

type Kind = "singles" | "pages";

export interface RedisSlotsOptions {
  ledger: Ledger;
  settings: RateLimitSettings;
  timings: LeaseTimings;
  clock: Clock;
  listener: SlotListener;
  onStoreError: "fail" | "local";
  warn(message: string): void;
}

/**
 * The slots of a limit that several processes share, through a ledger in Redis. One exchange at a time: it reports what
 * this process holds, asks for slots if calls wait, and renews the lease of the requests in flight.
 */
export class RedisSlots implements SlotSource {
  readonly #options: RedisSlotsOptions;
  readonly #clock: Clock;
  readonly #held = { singles: new HeldSlots(), pages: new HeldSlots() };
  /** Granted by the last exchange, and not taken yet. */
  #granted = { singles: 0, pages: 0 };
  #waiting: Crowd = { all: 0, pages: 0 };
  #exchange: { isOverdue: boolean } | undefined;
  #isExchangeQueued = false;
  #last: { request: LedgerRequest; reply: LedgerReply; sentAt: number; held: number } | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** When the ledger has to know what has changed here. */
  #reportAt = Number.POSITIVE_INFINITY;
  /** Before this time the ledger has no slots of a kind that it refused. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #outage: { since: number; failedAt: number; state: LastKnownState; isReported: boolean } | undefined;
  /** The ledger does not know yet that slots may have been used without it. */
  #usedFallback = false;
  /** The end of a pause that the ledger does not know yet. */
  #pauseUntil: number | undefined;
  #stopTimer = () => {};

  constructor(options: RedisSlotsOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** As of the last exchange, and what has become free here since: reading it sends nothing. */
  get available(): number {
    const now = this.#clock.now();
    const held = this.#heldCount(now);
    const quota = this.#fallback(now);
    if (quota) return Math.max(0, quota.slots - held);
    const { requests } = this.#options.settings;
    // What the others held then is free again by now.
    if (!this.#last || now - this.#last.sentAt > this.#options.timings.leaseMs) return requests - held;
    return Math.min(requests, this.#last.reply.free + Math.max(0, this.#last.held - held));
  }

  take(bulk: boolean): TakenSlot | undefined {
    if (!this.#takeGranted(bulk) && !this.#hasFallbackSlot(bulk)) return undefined;
    const held = this.#held[bulk ? "pages" : "singles"];
    held.inFlight += 1;
    return {
      release: () => {
        const now = this.#clock.now();
        held.release(now + (this.#fallback(now) ?? this.#options.timings).returnMs);
        this.#report(this.#options.timings.batchMs);
      },
      giveBack: () => {
        held.inFlight -= 1;
        this.#report(0);
      },
    };
  }

  earliest(_bulk: boolean, ahead: Crowd): number {
    const now = this.#clock.now();
    const quota = this.#fallback(now);
    if (quota)
      return this.#heldCount(now) < quota.slots
        ? now
        : Math.max(now, Math.min(this.#nextReturn(), now + quota.returnMs));
    const { requests, intervalMs } = this.#options.settings;
    const { reply, sentAt = now } = this.#last ?? {};
    const first = reply?.free === 0 && reply.settlingMs === 0 ? Math.max(now, sentAt + reply.nextMs) : now;
    const rounds = Math.floor(ahead.all / requests);
    return rounds === 0 ? first : first + rounds * intervalMs;
  }

  expect(waiting: Crowd): void {
    this.#waiting = waiting;
    const { onStoreError, listener } = this.#options;
    if (waiting.all > 0 && onStoreError === "fail" && this.#exchange?.isOverdue) {
      queueMicrotask(() => listener.slotsFailed(noSlotError(new Error("Redis does not reply"))));
    }
    // The ledger keeps slots for calls that do not wait any more.
    if (waiting.all === 0 && this.#wasRefused().any) this.#report(this.#options.timings.batchMs);
    else this.#schedule();
  }

  pauseBegan(delayMs: number): void {
    this.#pauseUntil = this.#clock.now() + delayMs;
    this.#report(0);
  }

  #takeGranted(bulk: boolean): boolean {
    const kind: Kind = bulk || this.#granted.singles === 0 ? "pages" : "singles";
    if (this.#granted[kind] === 0) return false;
    this.#granted[kind] -= 1;
    return true;
  }

  #hasFallbackSlot(bulk: boolean): boolean {
    const now = this.#clock.now();
    const quota = this.#fallback(now);
    if (!quota || this.#heldCount(now) >= quota.slots) return false;
    return !bulk || this.#held.pages.count < quota.pages;
  }

  get #usesFallback(): boolean {
    return this.#outage !== undefined && this.#options.onStoreError === "local";
  }

  /** What this process may use without the ledger; `undefined` while it uses the ledger. */
  #fallback(now: number): FallbackQuota | undefined {
    if (!this.#outage || !this.#usesFallback) return undefined;
    return fallbackQuota(this.#outage.state, now - this.#outage.since, this.#options.settings, this.#options.timings);
  }

  #heldCount(now: number): number {
    const { singles, pages } = this.#held;
    singles.reclaim(now);
    pages.reclaim(now);
    return singles.count + pages.count;
  }

  #inFlight(): number {
    return this.#held.singles.inFlight + this.#held.pages.inFlight;
  }

  #nextReturn(): number {
    return Math.min(this.#held.singles.nextReturn, this.#held.pages.nextReturn);
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
    if (exchangeAt <= now) this.#exchangeSoon();
    const time = Math.min(exchangeAt > now ? exchangeAt : Number.POSITIVE_INFINITY, this.#nextFallbackSlot(now));
    if (time === Number.POSITIVE_INFINITY) return;
    const wake = () => {
      if (this.#outage) this.#options.listener.slotsChanged();
      this.#schedule();
    };
    const keepsAlive = this.#waiting.all > 0 || this.#reportAt <= time;
    this.#stopTimer = keepsAlive ? this.#clock.at(time, wake) : startBackgroundTimer(time - now, wake);
  }

  #nextExchange(now: number): number {
    if (this.#exchange || this.#isExchangeQueued) return Number.POSITIVE_INFINITY;
    const isWaiting = this.#waiting.all > 0;
    const isActive = isWaiting || this.#heldCount(now) > 0;
    if (this.#outage) {
      if (isWaiting && this.#options.onStoreError === "fail") return now;
      // What is held here counts against the limit as soon as others reach the ledger again.
      return isActive ? this.#outage.failedAt + RECONNECT_MS : Number.POSITIVE_INFINITY;
    }
    return Math.min(
      isWaiting ? this.#nextRequest(now) : Number.POSITIVE_INFINITY,
      this.#reportAt,
      isActive ? this.#sentAt + this.#options.timings.heartbeatMs : Number.POSITIVE_INFINITY,
    );
  }

  /** When to ask for slots: at once, unless the ledger has none of the kinds that are wanted. */
  #nextRequest(now: number): number {
    const refused = this.#wasRefused();
    const { all, pages } = this.#waiting;
    const isNewKind = (all > pages && !refused.singles) || (pages > 0 && !refused.pages);
    return isNewKind ? now : this.#retryAt;
  }

  #wasRefused() {
    const { request, reply } = this.#last ?? {};
    const isRefused = (kind: Kind) =>
      request !== undefined && reply !== undefined && reply.granted[kind] < request.wanted[kind];
    const [singles, pages] = [isRefused("singles"), isRefused("pages")];
    return { singles, pages, any: singles || pages };
  }

  #nextFallbackSlot(now: number): number {
    const quota = this.#waiting.all > 0 ? this.#fallback(now) : undefined;
    if (!quota || !this.#outage) return Number.POSITIVE_INFINITY;
    const growsAt = this.#outage.since + this.#options.timings.returnMs + 1;
    const hasSlot = this.#hasFallbackSlot(this.#waiting.all === this.#waiting.pages);
    return Math.max(
      now + 1,
      Math.min(hasSlot ? now : this.#nextReturn(), growsAt > now ? growsAt : Number.POSITIVE_INFINITY),
    );
  }

  /** Once for all that happens at this moment. */
  #exchangeSoon(): void {
    this.#isExchangeQueued = true;
    queueMicrotask(() => {
      this.#isExchangeQueued = false;
      void this.#startExchange();
    });
  }

  async #startExchange(): Promise<void> {
    const request = this.#nextMessage();
    const sentAt = this.#sentAt;
    const exchange = { isOverdue: false };
    this.#exchange = exchange;
    const stopTimeout = startTimer(REPLY_TIMEOUT_MS, () => {
      exchange.isOverdue = true;
      this.#failed(request, new Error(`Redis has not replied for ${REPLY_TIMEOUT_MS} ms`));
    });
    const result = await this.#options.ledger.exchange(request).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
    stopTimeout();
    this.#exchange = undefined;
    if ("reply" in result) this.#replied(request, result.reply, { sentAt, isLate: exchange.isOverdue });
    else if (!exchange.isOverdue) this.#failed(request, result.error);
    this.#schedule();
  }

  #nextMessage(): LedgerRequest {
    const now = this.#clock.now();
    this.#heldCount(now);
    const { singles, pages } = this.#held;
    const waiting = this.#usesFallback ? { all: 0, pages: 0 } : this.#waiting;
    const isKnown = this.#last && now - this.#last.sentAt < this.#options.timings.leaseMs;
    this.#sentAt = now;
    this.#reportAt = Number.POSITIVE_INFINITY;
    return {
      epoch: isKnown ? this.#last?.reply.epoch : undefined,
      inFlight: { singles: singles.inFlight, pages: pages.inFlight },
      returning: { singles: singles.returningIn(now), pages: pages.returningIn(now) },
      wanted: { singles: waiting.all - waiting.pages, pages: waiting.pages },
      pauseMs: Math.max(0, Math.ceil((this.#pauseUntil ?? now) - now)),
      usedFallback: this.#usedFallback,
    };
  }

  #replied(request: LedgerRequest, reply: LedgerReply, { sentAt, isLate }: { sentAt: number; isLate: boolean }): void {
    const { timings, listener } = this.#options;
    const now = this.#clock.now();
    // A process that stood still may have been taken for dead, and its slots granted to others; and in an outage others
    // may have used slots of their own. Slots that are not used are free again with the next message.
    const isUsable = !isLate && !this.#usesFallback && now - sentAt < timings.graceMs;
    this.#outage = undefined;
    if (request.usedFallback) this.#usedFallback = false;
    if (request.pauseMs > 0) this.#pauseUntil = undefined;
    const { singles, pages } = reply.granted;
    this.#last = { request, reply, sentAt, held: this.#heldCount(sentAt) + singles + pages };
    this.#granted = isUsable ? { ...reply.granted } : { singles: 0, pages: 0 };
    this.#retryAt = isUsable ? now + Math.max(this.#nextGrantMs(reply, now) + 1, timings.batchMs) : now;
    if (reply.pauseMs > 0) listener.pauseLearned(reply.pauseMs);
    listener.slotsChanged();
    if (isUsable && this.#wasRefused().any && reply.free === 0 && reply.settlingMs === 0) {
      listener.slotsDelayed(reply.nextMs - (this.#clock.now() - sentAt));
    }
    if (!isUsable || this.#granted.singles + this.#granted.pages > 0) this.#report(0);
    this.#granted = { singles: 0, pages: 0 };
  }

  /** While the ledger is settling, only own slots are granted again. */
  #nextGrantMs({ settlingMs, nextMs }: LedgerReply, now: number): number {
    return settlingMs > 0 ? Math.min(settlingMs, this.#nextReturn() - now) : nextMs;
  }

  #failed(request: LedgerRequest, error: Error): void {
    const now = this.#clock.now();
    const { onStoreError, listener } = this.#options;
    this.#outage ??= { since: now, failedAt: now, state: this.#lastKnownState(request, now), isReported: false };
    this.#outage.failedAt = now;
    // Not if its owner closed the connection when all calls had ended.
    if (this.#waiting.all > 0 || this.#inFlight() > 0) this.#warn(error);
    if (onStoreError === "fail") {
      listener.slotsFailed(noSlotError(error));
    } else {
      this.#usedFallback = true;
      listener.slotsChanged();
    }
  }

  /** What was held when the exchange failed: slots that came back since then are granted to no other process. */
  #lastKnownState({ inFlight, returning }: LedgerRequest, now: number): LastKnownState {
    const held = inFlight.singles + inFlight.pages + returning.singles.length + returning.pages.length;
    if (!this.#last) return { members: undefined, wasConnected: false, held };
    const isRecent = now - this.#last.sentAt < this.#options.timings.leaseMs;
    return { members: isRecent ? this.#last.reply.members : undefined, wasConnected: true, held };
  }

  /** Once in an outage. */
  #warn(error: Error): void {
    if (!this.#outage || this.#outage.isReported) return;
    this.#outage.isReported = true;
    const { requests, intervalMs } = this.#options.settings;
    const quota = this.#fallback(Number.POSITIVE_INFINITY);
    const consequence = quota
      ? `this process goes on with ${quota.slots} of ${requests} requests in ${intervalMs} ms`
      : "calls fail";
    this.#options.warn(`the shared rate limiter cannot reach Redis (${error.message}): ${consequence} until it can`);
  }
}

/** What a call rejects with that cannot have a slot. */
function noSlotError(cause: Error): ConnectionError {
  return new ConnectionError(`the shared rate limiter cannot reach Redis, nothing was sent: ${cause.message}`, {
    cause,
  });
}

/** A timer that does not keep the process alive. */
function startBackgroundTimer(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, delayMs);
  timer.unref?.();
  return () => clearTimeout(timer);
}
