import { randomBytes } from "node:crypto";
import { ConnectionError } from "../../errors/index.js";
import type { Clock } from "../../limiter/clock.js";
import type { Crowd, SlotListener, SlotSource, TakenSlot } from "../../limiter/slot-source.js";
import { Agenda } from "./agenda.js";
import { Courier, type Sender } from "./courier.js";
import { Hand } from "./hand.js";
import type { Answer, Ledger, Question } from "./ledger.js";
import { type Memory, ownShare, type Share } from "./own-share.js";
import { OwnSlots } from "./own-slots.js";
import type { Terms } from "./terms.js";

const NOBODY: Crowd = { all: 0, pages: 0 };

export interface SharedSlotsOptions {
  terms: Terms;
  clock: Clock;
  listener: SlotListener;
  ledger(owner: string): Ledger;
  /** What to do while the ledger cannot be reached. */
  onStoreError: "fail" | "local";
  warn(message: string): void;
}

interface Outage {
  since: number;
  memory: Memory;
  isReported: boolean;
}

/** The slots of a limit that several processes share, through a ledger in Redis. */
export class SharedSlots implements SlotSource, Sender {
  readonly #options: SharedSlotsOptions;
  readonly #terms: Terms;
  readonly #clock: Clock;
  readonly #owner = randomBytes(6).toString("base64url");
  readonly #courier: Courier;
  readonly #agenda: Agenda;
  readonly #book = new OwnSlots();
  readonly #hand = new Hand();
  #numbers = 0;
  #waiting = NOBODY;
  #outage: Outage | undefined;
  /** What this process may have while the ledger gathers who has which slots. */
  #settlingShare: number | undefined;
  /** Others may have used slots of their own while we did. */
  #wasCutOff = false;
  #pauseUntil: number | undefined;
  #last: { answer: Answer; askedAt: number } | undefined;

  constructor(options: SharedSlotsOptions) {
    this.#options = options;
    this.#terms = options.terms;
    this.#clock = options.clock;
    this.#courier = new Courier(options.ledger(this.#owner), this);
    this.#agenda = new Agenda(options.terms, options.clock, {
      ask: () => this.#ask(),
      tryOwn: () => options.listener.slotsChanged(),
    });
  }

  get available(): number {
    const now = this.#clock.now();
    this.#book.settle(now);
    if (this.#usesOwnShare) return Math.max(0, this.#share(now).slots - this.#book.size);
    this.#agenda.refresh(this.#courier.isBusy);
    return this.#last?.answer.free ?? this.#terms.requests;
  }

  take(bulk: boolean): TakenSlot | undefined {
    const now = this.#clock.now();
    const id = this.#hand.take(bulk) ?? this.#takeOwn(bulk, now);
    if (id === undefined) return undefined;
    return {
      release: () => {
        const endedAt = this.#clock.now();
        const { returnMs } = this.#outage ? this.#share(endedAt) : this.#terms;
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
    if (this.#outage) {
      this.#book.settle(now);
      return this.#book.size < this.#share(now).slots ? now : (this.#book.nextReturn ?? now);
    }
    const { answer, askedAt } = this.#last ?? {};
    const isUsedUp = answer?.free === 0 && answer.settlingMs === 0 && askedAt !== undefined;
    const first = isUsedUp ? Math.max(now, askedAt + (answer.nextMs ?? 0)) : now;
    const rounds = Math.floor(ahead.all / this.#terms.requests);
    return rounds === 0 ? first : first + rounds * this.#terms.intervalMs;
  }

  expect(waiting: Crowd): void {
    this.#waiting = waiting;
    if (waiting.all > 0 && this.#courier.isOverdue && this.#options.onStoreError === "fail") {
      queueMicrotask(() => this.#options.listener.slotsFailed(this.#failure(new Error("Redis does not answer"))));
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
    const granted = this.#accept(answer, question);
    // A process that was stopped meanwhile may have been taken for dead, and its slots given to others. And while we had
    // to do without the ledger, others may have had to do so too.
    const isUsable = !isLate && !this.#outage && now - askedAt < this.#terms.graceMs;
    if (isUsable) this.#hand.add(granted);
    else for (const id of granted) this.#book.giveBack(id);
    if (isUsable && now - askedAt > this.#terms.beatMs) this.#book.renew();
    if (this.#outage) this.#endOutage(question);
    if (answer.isLost) this.#book.tellAll();
    this.#settlingShare = answer.settlingMs > 0 ? (this.#settlingShare ?? this.#book.size) : undefined;
    this.#last = { answer, askedAt };
    if (answer.pauseMs > 0) this.#options.listener.pauseLearned(answer.pauseMs);
    const isShort = isUsable && granted.length < question.singles + question.pages;
    this.#agenda.learned({
      isShort,
      noneBefore: this.#noneBefore(answer, now),
      mustAskAgain: answer.isLost || this.#wasCutOff || !isUsable,
    });
    this.#options.listener.slotsChanged();
    if (isShort && answer.free === 0 && answer.settlingMs === 0 && answer.nextMs !== undefined) {
      this.#options.listener.slotsDelayed(answer.nextMs - (this.#clock.now() - askedAt));
    }
    this.#giveBackHand();
    this.#plan();
  }

  unanswered(error: Error, question: Question): void {
    this.#book.putBack(question.updates);
    if (question.pauseMs > 0) this.#pauseUntil ??= this.#agenda.askedAt + question.pauseMs;
    this.#wasCutOff ||= question.wasCutOff;
    this.#agenda.failed();
    this.#beginOutage();
    this.#report(error);
    if (this.#options.onStoreError === "fail") this.#options.listener.slotsFailed(this.#failure(error));
    else this.#options.listener.slotsChanged();
    this.#plan();
  }

  cutOff(): void {
    // Whoever wants an error rather than more than its share may still get an answer in time.
    if (this.#options.onStoreError === "fail") return;
    this.#beginOutage();
    this.#options.listener.slotsChanged();
    this.#plan();
  }

  #ask(): void {
    if (this.#courier.isBusy) return;
    const now = this.#clock.now();
    this.#book.settle(now);
    if (this.#agenda.isBeatDue(now)) this.#book.renew();
    const { all, pages } = this.#outage ? NOBODY : this.#waiting;
    const last = this.#last;
    const question: Question = {
      epoch: last && now - last.askedAt < this.#terms.leaseMs ? last.answer.epoch : undefined,
      singles: all - pages,
      pages,
      firstNumber: this.#numbers + 1,
      ownShare: this.#settlingShare ?? this.#book.size,
      pauseMs: Math.max(0, (this.#pauseUntil ?? now) - now),
      wasCutOff: this.#wasCutOff || this.#usesOwnShare,
      updates: this.#book.takeNews(now, this.#terms.leaseMs),
    };
    this.#numbers += Math.max(1, all);
    this.#pauseUntil = undefined;
    this.#wasCutOff = false;
    this.#agenda.asked(question);
    void this.#courier.ask(question);
  }

  #accept({ singles, pages }: Answer, { firstNumber }: Question): string[] {
    const granted = Array.from({ length: singles + pages }, (_, index) =>
      this.#id(firstNumber + index, index >= singles),
    );
    for (const id of granted) this.#book.add(id, { inLedger: true });
    return granted;
  }

  #takeOwn(bulk: boolean, now: number): string | undefined {
    if (!this.#usesOwnShare) return undefined;
    this.#book.settle(now);
    const { slots } = this.#share(now);
    const pageSlots = slots === 1 ? 1 : slots - Math.ceil((slots * this.#terms.reserved) / this.#terms.requests);
    if (this.#book.size >= slots || (bulk && this.#book.pages >= pageSlots)) return undefined;
    const id = this.#id(++this.#numbers, bulk);
    this.#book.add(id, { inLedger: false });
    this.#plan();
    return id;
  }

  get #usesOwnShare(): boolean {
    return this.#outage !== undefined && this.#options.onStoreError === "local";
  }

  #share(now: number): Share {
    const { memory, since } = this.#outage ?? { memory: { members: undefined, held: 0 }, since: now };
    return ownShare(memory, now - since, this.#terms);
  }

  #noneBefore({ settlingMs, nextMs = 0 }: Answer, now: number): number {
    if (settlingMs === 0) return now + nextMs + 1;
    return Math.min(now + settlingMs, this.#book.nextReturn ?? Number.POSITIVE_INFINITY) + 1;
  }

  #beginOutage(): void {
    if (this.#outage) return;
    const now = this.#clock.now();
    this.#book.settle(now);
    const { answer, askedAt = now } = this.#last ?? {};
    const isFresh = now - askedAt < this.#terms.leaseMs;
    const memory = { members: isFresh ? answer?.members : undefined, held: this.#book.size };
    this.#outage = { since: now, memory, isReported: false };
  }

  #endOutage({ wasCutOff }: Question): void {
    this.#outage = undefined;
    this.#book.tellAll();
    this.#wasCutOff = this.#options.onStoreError === "local" && !wasCutOff;
  }

  #report(error: Error): void {
    const outage = this.#outage;
    // Whoever closes its Redis client when all is done need not hear of it.
    const isActive = this.#waiting.all > 0 || this.#book.underWay > 0;
    if (!outage || outage.isReported || !isActive) return;
    outage.isReported = true;
    const { requests, intervalMs } = this.#terms;
    const consequence =
      this.#options.onStoreError === "fail"
        ? "calls fail"
        : `this process goes on with ${ownShare(outage.memory, Number.POSITIVE_INFINITY, this.#terms).slots} of ${requests} requests in ${intervalMs} ms`;
    this.#options.warn(`the shared rate limiter cannot reach Redis (${error.message}): ${consequence} until it can`);
  }

  #failure(error: Error): ConnectionError {
    return new ConnectionError(`the shared rate limiter cannot reach Redis, nothing was sent: ${error.message}`, {
      cause: error,
    });
  }

  #giveBackHand(): void {
    for (const id of this.#hand.empty()) this.#book.giveBack(id);
  }

  #id(number: number, isPage: boolean): string {
    return `${this.#owner}/${number}${isPage ? "p" : ""}`;
  }

  #plan(): void {
    this.#agenda.plan({
      waiting: this.#waiting,
      book: this.#book,
      isBusy: this.#courier.isBusy,
      isPausing: this.#pauseUntil !== undefined,
      usesOwnShare: this.#usesOwnShare,
      isOut: this.#outage !== undefined,
      failsFast: this.#options.onStoreError === "fail",
      shareGrowsAt: this.#outage && this.#outage.since + this.#terms.returnMs,
    });
  }
}
