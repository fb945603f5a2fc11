import type { Clock } from "../../limiter/clock.js";
import type { Crowd, SlotListener, SlotSource, TakenSlot } from "../../limiter/slot-source.js";
import { Agenda } from "./agenda.js";
import { Courier, type Sender } from "./courier.js";
import type { Answer, Ledger, Question } from "./ledger.js";
import { noSlotError, Outage, type OutageOptions } from "./outage.js";
import type { Terms } from "./terms.js";
import { Wallet } from "./wallet.js";

const NOBODY: Crowd = { all: 0, pages: 0 };

export interface SharedSlotsOptions extends OutageOptions {
  clock: Clock;
  listener: SlotListener;
  ledger(owner: string): Ledger;
}

/** The slots of a limit that several processes share, through a ledger in Redis. */
export class SharedSlots implements SlotSource, Sender {
  readonly #listener: SlotListener;
  readonly #terms: Terms;
  readonly #clock: Clock;
  readonly #courier: Courier;
  readonly #agenda: Agenda;
  readonly #wallet = new Wallet();
  readonly #book = this.#wallet.book;
  readonly #outage: Outage;
  #waiting = NOBODY;
  /** What this process may have while the ledger gathers who has which slots. */
  #settlingShare: number | undefined;
  /** The ledger does not know yet that we have used slots of our own. */
  #wasCutOff = false;
  #pauseUntil: number | undefined;
  #last: { answer: Answer; askedAt: number } | undefined;

  constructor(options: SharedSlotsOptions) {
    this.#listener = options.listener;
    this.#outage = new Outage(options);
    this.#terms = options.terms;
    this.#clock = options.clock;
    this.#courier = new Courier(options.ledger(this.#wallet.owner), this);
    this.#agenda = new Agenda(options.terms, options.clock, {
      ask: () => this.#ask(),
      tryOwn: () => this.#listener.slotsChanged(),
    });
  }

  get available(): number {
    const now = this.#clock.now();
    this.#book.settle(now);
    if (this.#outage.allowsOwn) return Math.max(0, this.#outage.share(now).slots - this.#book.size);
    this.#agenda.refresh(this.#courier.isBusy);
    return this.#last?.answer.free ?? this.#terms.requests;
  }

  take(bulk: boolean): TakenSlot | undefined {
    const now = this.#clock.now();
    const id = this.#wallet.take(bulk) ?? this.#takeOwn(bulk, now);
    if (id === undefined) return undefined;
    return {
      release: () => {
        const endedAt = this.#clock.now();
        const { returnMs } = this.#outage.isOn ? this.#outage.share(endedAt) : this.#terms;
        this.#book.release(id, endedAt + returnMs);
        this.#plan();
      },
      giveBack: () => {
        this.#book.giveBack(id);
        this.#agenda.slotGivenBack();
        this.#plan();
      },
    };
  }

  earliest(_bulk: boolean, ahead: Crowd): number {
    const now = this.#clock.now();
    if (this.#outage.isOn) {
      this.#book.settle(now);
      return this.#book.size < this.#outage.share(now).slots ? now : (this.#book.nextReturn ?? now);
    }
    const { answer, askedAt } = this.#last ?? {};
    const isUsedUp = answer?.free === 0 && answer.settlingMs === 0 && askedAt !== undefined;
    const first = isUsedUp ? Math.max(now, askedAt + (answer.nextMs ?? 0)) : now;
    const rounds = Math.floor(ahead.all / this.#terms.requests);
    return rounds === 0 ? first : first + rounds * this.#terms.intervalMs;
  }

  expect(waiting: Crowd): void {
    this.#waiting = waiting;
    if (waiting.all > 0 && this.#courier.isOverdue && this.#outage.failsCalls) {
      queueMicrotask(() => this.#listener.slotsFailed(noSlotError(new Error("Redis does not answer"))));
    }
    this.#plan();
  }

  pauseBegan(delayMs: number): void {
    this.#pauseUntil = this.#clock.now() + delayMs;
    this.#plan();
  }

  answered(answer: Answer, question: Question, isLate: boolean): void {
    const now = this.#clock.now();
    const askedAt = this.#agenda.askedAt;
    // A process that was stopped meanwhile may have been taken for dead, and its slots given to others. And while we had
    // to do without the ledger, others may have had to do so too.
    const isUsable = !isLate && !this.#outage.isOn && now - askedAt < this.#terms.graceMs;
    this.#wallet.accept(answer, question, isUsable);
    if (isUsable && now - askedAt > this.#terms.beatMs) this.#book.renew();
    if (this.#outage.isOn) this.#endOutage(question);
    if (answer.isLost) this.#book.tellAll();
    this.#settlingShare = answer.settlingMs > 0 ? (this.#settlingShare ?? this.#book.size) : undefined;
    this.#last = { answer, askedAt };
    if (answer.pauseMs > 0) this.#listener.pauseLearned(answer.pauseMs);
    const isShort = isUsable && answer.singles + answer.pages < question.singles + question.pages;
    this.#agenda.learned({
      isShort,
      noneBefore: this.#noneBefore(answer, now),
      mustAskAgain: answer.isLost || this.#wasCutOff || !isUsable,
    });
    this.#listener.slotsChanged();
    if (isShort && answer.free === 0 && answer.settlingMs === 0 && answer.nextMs !== undefined) {
      this.#listener.slotsDelayed(answer.nextMs - (this.#clock.now() - askedAt));
    }
    this.#wallet.giveBackHand();
    this.#plan();
  }

  unanswered(error: Error, question: Question): void {
    this.#book.putBack(question.updates);
    if (question.pauseMs > 0) this.#pauseUntil ??= this.#agenda.askedAt + question.pauseMs;
    this.#wasCutOff ||= question.wasCutOff;
    this.#agenda.failed();
    this.#beginOutage();
    // Whoever closes its Redis client when all is done need not hear of it.
    if (this.#waiting.all > 0 || this.#book.underWay > 0) this.#outage.report(error);
    if (this.#outage.failsCalls) this.#listener.slotsFailed(noSlotError(error));
    else this.#listener.slotsChanged();
    this.#plan();
  }

  cutOff(): void {
    // Whoever wants an error rather than more than its share may still get an answer in time.
    if (this.#outage.failsCalls) return;
    this.#beginOutage();
    this.#listener.slotsChanged();
    this.#plan();
  }

  #ask(): void {
    if (this.#courier.isBusy) return;
    const now = this.#clock.now();
    this.#book.settle(now);
    if (this.#agenda.isBeatDue(now)) this.#book.renew();
    const { all, pages } = this.#outage.isOn ? NOBODY : this.#waiting;
    const last = this.#last;
    const question: Question = {
      epoch: last && now - last.askedAt < this.#terms.leaseMs ? last.answer.epoch : undefined,
      singles: all - pages,
      pages,
      firstNumber: this.#wallet.takeNumbers(Math.max(1, all)),
      ownShare: this.#settlingShare ?? this.#book.size,
      pauseMs: Math.max(0, (this.#pauseUntil ?? now) - now),
      wasCutOff: this.#wasCutOff || this.#outage.allowsOwn,
      updates: this.#book.takeNews(now, this.#terms.leaseMs),
    };
    this.#pauseUntil = undefined;
    this.#wasCutOff = false;
    this.#agenda.asked(question);
    void this.#courier.ask(question);
  }

  #takeOwn(bulk: boolean, now: number): string | undefined {
    if (!this.#outage.allowsOwn) return undefined;
    this.#book.settle(now);
    const id = this.#wallet.takeOwn(bulk, this.#outage.share(now));
    if (id !== undefined) this.#plan();
    return id;
  }

  #noneBefore({ settlingMs, nextMs = 0 }: Answer, now: number): number {
    if (settlingMs === 0) return now + nextMs + 1;
    return Math.min(now + settlingMs, this.#book.nextReturn ?? Number.POSITIVE_INFINITY) + 1;
  }

  #beginOutage(): void {
    if (this.#outage.isOn) return;
    const now = this.#clock.now();
    this.#book.settle(now);
    const { answer, askedAt = now } = this.#last ?? {};
    const isFresh = now - askedAt < this.#terms.leaseMs;
    this.#outage.begin(now, { members: isFresh ? answer?.members : undefined, held: this.#book.size });
  }

  #endOutage({ wasCutOff }: Question): void {
    // Others may have used slots of their own as well; the ledger has to gather who has which.
    this.#wasCutOff = this.#outage.allowsOwn && !wasCutOff;
    this.#outage.end();
    this.#book.tellAll();
  }

  #plan(): void {
    this.#agenda.plan({
      waiting: this.#waiting,
      book: this.#book,
      isBusy: this.#courier.isBusy,
      isPausing: this.#pauseUntil !== undefined,
      outage: this.#outage,
    });
  }
}
