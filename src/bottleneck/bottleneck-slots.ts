import type Bottleneck from "bottleneck";
import { ConnectionError } from "../errors/index.js";
import type { Crowd, SlotListener, SlotSource, TakenSlot } from "../limiter/slot-source.js";

/** Bottleneck's priorities go from 0 to 9; pages are its least urgent jobs, so that other code goes before them. */
const SINGLE_PRIORITY = 5;
const PAGE_PRIORITY = 9;

/** A job of the Bottleneck that has started: the right to send one request, until it is ended. */
interface Job {
  isPage: boolean;
  end(): void;
}

/** Slots that are jobs of a Bottleneck: each runs from when its request may be sent until that has ended. */
export class BottleneckSlots implements SlotSource {
  readonly #bottleneck: Bottleneck;
  readonly #listener: SlotListener;
  /** Jobs that have started, and whose slots nobody has taken yet. */
  #atHand: Job[] = [];
  /** Jobs that wait in the Bottleneck. */
  readonly #asked = { singles: 0, pages: 0 };
  #waiting: Crowd = { all: 0, pages: 0 };

  constructor(bottleneck: Bottleneck, listener: SlotListener) {
    this.#bottleneck = bottleneck;
    this.#listener = listener;
  }

  get available(): number {
    return this.#atHand.length;
  }

  take(bulk: boolean): TakenSlot | undefined {
    const index = this.#atHand.findIndex(({ isPage }) => !isPage || bulk);
    const [job] = index < 0 ? [] : this.#atHand.splice(index, 1);
    return job && { release: job.end, giveBack: () => this.#keep(job) };
  }

  /** A Bottleneck does not tell when it will have a slot. */
  earliest(): number {
    return 0;
  }

  expect(waiting: Crowd): void {
    this.#waiting = waiting;
    const has = (pages: boolean) => this.#atHand.filter(({ isPage }) => isPage === pages).length;
    const singles = waiting.all - waiting.pages - has(false) - this.#asked.singles;
    const pages = waiting.pages - has(true) - this.#asked.pages;
    for (let count = 0; count < singles; count += 1) this.#ask(false);
    for (let count = 0; count < pages; count += 1) this.#ask(true);
  }

  pauseBegan(): void {}

  #ask(isPage: boolean): void {
    const kind = isPage ? "pages" : "singles";
    this.#asked[kind] += 1;
    this.#bottleneck
      .schedule({ priority: isPage ? PAGE_PRIORITY : SINGLE_PRIORITY }, () => {
        this.#asked[kind] -= 1;
        return new Promise<void>((end) => this.#keep({ isPage, end }));
      })
      .catch((error: unknown) => {
        // It was stopped, or has dropped the job.
        this.#asked[kind] -= 1;
        const reason = error instanceof Error ? error.message : String(error);
        const message = `the Bottleneck gives no slot, nothing was sent: ${reason}`;
        this.#listener.slotsFailed(new ConnectionError(message, { cause: error }));
      });
  }

  /** Has a job at hand for whoever waits; a Bottleneck cannot take a job back, so one that nobody wants just ends. */
  #keep(job: Job): void {
    this.#atHand.push(job);
    queueMicrotask(() => {
      this.#listener.slotsChanged();
      this.#endUnwanted();
    });
  }

  #endUnwanted(): void {
    if (this.#waiting.all > 0) return;
    for (const { end } of this.#atHand.splice(0)) end();
  }
}
