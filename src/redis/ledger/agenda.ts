import type { Clock } from "../../limiter/clock.js";
import type { Crowd } from "../../limiter/slot-source.js";
import type { Question } from "./ledger.js";
import type { Outage } from "./outage.js";
import type { OwnSlots } from "./own-slots.js";
import type { Terms } from "./terms.js";

/** News waits so long for more, as long as nobody waits for the answer. */
const NEWS_DELAY_MS = 5;
/** Time between two attempts to reach a ledger that cannot be reached. */
const RETRY_MS = 500;
/** The figures of a snapshot may be so old. */
const FRESH_MS = 250;

export interface Situation {
  waiting: Crowd;
  book: OwnSlots;
  isBusy: boolean;
  isPausing: boolean;
  outage: Outage;
}

/** Decides when the ledger is asked next. One timer at most, and none that keeps the process alive for nothing. */
export class Agenda {
  readonly #terms: Terms;
  readonly #clock: Clock;
  readonly #calls: { ask(): void; tryOwn(): void };
  #askedAt = Number.NEGATIVE_INFINITY;
  #beatAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #asked: Pick<Question, "singles" | "pages"> = { singles: 0, pages: 0 };
  /** The ledger has fewer slots than we asked for, and no more before this time. */
  #noneBefore: number | undefined;
  #newsSince: number | undefined;
  #mustAsk = false;
  #isSoon = false;
  #stop = () => {};

  constructor(terms: Terms, clock: Clock, calls: { ask(): void; tryOwn(): void }) {
    this.#terms = terms;
    this.#clock = clock;
    this.#calls = calls;
  }

  /** When the last question was asked. */
  get askedAt(): number {
    return this.#askedAt;
  }

  /** Whether it is time to tell of the slots in use, so that they are not taken for those of a dead process. */
  isBeatDue(now: number): boolean {
    return now >= this.#beatAt;
  }

  asked({ singles, pages }: Question): void {
    const now = this.#clock.now();
    this.#askedAt = now;
    if (this.isBeatDue(now)) this.#beatAt = now + this.#terms.beatMs;
    this.#asked = { singles, pages };
    this.#newsSince = undefined;
    this.#mustAsk = false;
  }

  learned(news: { isShort: boolean; noneBefore: number; mustAskAgain: boolean }): void {
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#mustAsk ||= news.mustAskAgain;
    this.#noneBefore = news.isShort
      ? // Many slots that come back one after the other are asked for together.
        Math.max(news.noneBefore, this.#clock.now() + Math.min(20, Math.max(1, this.#terms.intervalMs / 2_000)))
      : undefined;
    if (!news.isShort) this.#asked = { singles: 0, pages: 0 };
  }

  failed(): void {
    this.#failedAt = this.#clock.now();
    this.#noneBefore = undefined;
  }

  slotGivenBack(): void {
    this.#noneBefore = undefined;
  }

  /** Somebody looks at the figures. */
  refresh(isBusy: boolean): void {
    if (isBusy || this.#clock.now() - this.#askedAt < FRESH_MS) return;
    this.#askSoon();
  }

  plan(situation: Situation): void {
    this.#stop();
    this.#stop = () => {};
    const now = this.#clock.now();
    if (situation.outage.allowsOwn && situation.waiting.all > 0) this.#waitForOwn(situation, now);
    if (situation.isBusy || this.#isSoon) return;
    const { time, keepsAlive } = this.#nextQuestion(situation, now);
    if (time <= now) this.#askSoon();
    else if (keepsAlive) this.#also(this.#clock.at(time, () => this.#calls.ask()));
    else if (time !== Number.POSITIVE_INFINITY) this.#also(backgroundTimer(time - now, () => this.#calls.ask()));
  }

  #nextQuestion(situation: Situation, now: number): { time: number; keepsAlive: boolean } {
    const { waiting, book, isPausing, outage } = situation;
    const isActive = waiting.all > 0 || book.underWay > 0;
    if (book.hasNews || this.#hasUnmet(waiting)) this.#newsSince ??= now;
    const time = Math.min(
      this.#mustAsk || isPausing ? now : waiting.all > 0 ? this.#whenWanted(waiting, now) : Number.POSITIVE_INFINITY,
      this.#newsSince === undefined ? Number.POSITIVE_INFINITY : this.#newsSince + NEWS_DELAY_MS,
      isActive || book.size > 0 ? Math.max(this.#beatAt, this.#askedAt + this.#terms.beatMs) : Number.POSITIVE_INFINITY,
    );
    if (!outage.isOn) return { time, keepsAlive: isActive || this.#newsSince !== undefined || this.#mustAsk };
    // Nobody is hurt by what the ledger does not know while nobody can reach it.
    if (!isActive) return { time: Number.POSITIVE_INFINITY, keepsAlive: false };
    return {
      time: outage.failsCalls && waiting.all > 0 ? now : Math.max(now, this.#failedAt + RETRY_MS),
      keepsAlive: true,
    };
  }

  /** When slots should be asked for. */
  #whenWanted(waiting: Crowd, now: number): number {
    if (this.#noneBefore === undefined) return now;
    const isNewKind =
      (this.#asked.singles === 0 && waiting.all > waiting.pages) || (this.#asked.pages === 0 && waiting.pages > 0);
    return isNewKind ? now : this.#noneBefore;
  }

  /** The ledger keeps slots for calls of ours that do not wait any more. */
  #hasUnmet(waiting: Crowd): boolean {
    return waiting.all === 0 && this.#asked.singles + this.#asked.pages > 0;
  }

  #waitForOwn({ waiting, book, outage }: Situation, now: number): void {
    const { slots, pages } = outage.share(now);
    // There may be room already, where somebody who read the state noticed it and nobody was let through.
    const hasRoom = book.size < slots && (waiting.all > waiting.pages || book.pages < pages);
    const growsAt = outage.shareGrowsAt ?? now;
    const time = Math.min(
      hasRoom ? now : Number.POSITIVE_INFINITY,
      book.nextReturn ?? Number.POSITIVE_INFINITY,
      growsAt > now ? growsAt : Number.POSITIVE_INFINITY,
    );
    if (time !== Number.POSITIVE_INFINITY) this.#also(this.#clock.at(Math.max(time, now + 1), this.#calls.tryOwn));
  }

  /** Once for all that happens at this moment. */
  #askSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    queueMicrotask(() => {
      this.#isSoon = false;
      this.#calls.ask();
    });
  }

  #also(stop: () => void): void {
    const before = this.#stop;
    this.#stop = () => {
      before();
      stop();
    };
  }
}

/** A timer that does not keep the process alive. */
function backgroundTimer(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, delayMs);
  timer.unref?.();
  return () => clearTimeout(timer);
}
