import { startTimer } from "../../time/timer.js";
import type { Answer, Ledger, Question } from "./ledger.js";

/** A ledger that is silent for so long is taken for unreachable. */
const PATIENCE_MS = 1_000;
/** How often the connection is looked at meanwhile. */
const LOOK_MS = 50;

/** Whom the courier tells what came of a question. */
export interface Sender {
  /** `isLate`: it was reported as unanswered before. */
  answered(answer: Answer, question: Question, isLate: boolean): void;
  /** No answer will come, or none has come for too long. Told once for each question. */
  unanswered(error: Error, question: Question): void;
  /** The connection is down; the answer may still come when it is up again. */
  cutOff(): void;
}

/** Takes questions to the ledger, one at a time, and does not wait for ever. */
export class Courier {
  readonly #ledger: Ledger;
  readonly #sender: Sender;
  #question: { isOverdue: boolean } | undefined;
  #wasConnected = false;

  constructor(ledger: Ledger, sender: Sender) {
    this.#ledger = ledger;
    this.#sender = sender;
  }

  /** A question is on its way: the next one has to wait for it, however late its answer is. */
  get isBusy(): boolean {
    return this.#question !== undefined;
  }

  /** The question on its way was given up; should its answer come after all, the ledger can be reached again. */
  get isOverdue(): boolean {
    return this.#question?.isOverdue ?? false;
  }

  async ask(question: Question): Promise<void> {
    const state = { isOverdue: false };
    this.#question = state;
    const giveUp = (error: Error) => {
      if (state.isOverdue) return;
      state.isOverdue = true;
      this.#sender.unanswered(error, question);
    };
    const stopWatching = this.#watch(() => giveUp(new Error(`Redis has not answered for ${PATIENCE_MS} ms`)));
    const result = await this.#ledger.ask(question).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
    stopWatching();
    this.#question = undefined;
    if ("error" in result) return giveUp(result.error);
    this.#wasConnected = true;
    this.#sender.answered(result.answer, question, state.isOverdue);
  }

  #watch(lostPatience: () => void): () => void {
    let stop = () => {};
    let waitedMs = 0;
    let isCutOff = false;
    const look = () => {
      if (this.#wasConnected && !this.#ledger.isConnected && !isCutOff) {
        isCutOff = true;
        this.#sender.cutOff();
      }
      if (waitedMs >= PATIENCE_MS) return lostPatience();
      waitedMs += LOOK_MS;
      stop = startTimer(LOOK_MS, look);
    };
    // Not within the question itself, which is asked wherever something has changed.
    stop = startTimer(this.#wasConnected && !this.#ledger.isConnected ? 0 : LOOK_MS, look);
    return () => stop();
  }
}
