import * as z from "zod";
import { lazy } from "../../schemas/field.js";
import { keyName, type RedisClient } from "../redis-client.js";
import { LEDGER_SCRIPT } from "./ledger-script.js";
import type { Update } from "./own-slots.js";
import type { Terms } from "./terms.js";

/** What a process tells the ledger, and what it asks of it. */
export interface Question {
  /** The ledger that this process has dealt with last; `undefined` when that was too long ago to matter. */
  epoch: string | undefined;
  /** Slots wanted for single calls and for pages. */
  singles: number;
  pages: number;
  /** The number of the first slot that is granted; those after it count up. */
  firstNumber: number;
  /** How many slots this process may have while the ledger is settling. */
  ownShare: number;
  /** A pause to begin, in ms; 0 for none. */
  pauseMs: number;
  /** This process used slots that the ledger did not give it, as it was cut off, and others may have done so too. */
  wasCutOff: boolean;
  updates: readonly Update[];
}

/** What the ledger says. Times are from the moment of the answer on. */
export interface Answer {
  epoch: string;
  /** The ledger that this process knew is gone: it has to tell again which slots it has. */
  isLost: boolean;
  /** How long the ledger goes on gathering who has which slots. */
  settlingMs: number;
  /** What is left of the pause that all processes keep. */
  pauseMs: number;
  /** Slots granted for single calls, and for pages. */
  singles: number;
  pages: number;
  /** Slots that nobody has. */
  free: number;
  /** When the next slot comes back at the earliest; `undefined` when none is in use. */
  nextMs: number | undefined;
  /** Processes that share the limit. */
  members: number;
}

/** ioredis gives numbers as text when its `stringNumbers` is set. */
const count = () => z.coerce.number().int();
const answerSchema = lazy(() =>
  z.tuple([z.string(), count(), count(), count(), count(), count(), count(), count(), count()]),
);

/** The books of all processes with one key, kept in Redis. */
export class Ledger {
  readonly #redis: RedisClient;
  readonly #keys: string[];
  readonly #terms: Terms;
  readonly #owner: string;

  constructor(redis: RedisClient, key: string | undefined, terms: Terms, owner: string) {
    this.#redis = redis;
    this.#keys = [keyName(key, "slots"), keyName(key, "book")];
    this.#terms = terms;
    this.#owner = owner;
  }

  /** Whether an answer can be expected at once. */
  get isConnected(): boolean {
    return this.#redis.status === "ready";
  }

  async ask(question: Question): Promise<Answer> {
    const { requests, reserved, returnMs, leaseMs, graceMs } = this.#terms;
    const values = await LEDGER_SCRIPT.run(this.#redis, this.#keys, [
      this.#owner,
      question.epoch ?? "",
      `${this.#owner}/${question.firstNumber}`,
      requests,
      requests - reserved,
      returnMs,
      leaseMs,
      graceMs,
      question.singles,
      question.pages,
      question.firstNumber,
      question.ownShare,
      Math.ceil(question.pauseMs),
      question.wasCutOff ? 1 : 0,
      ...question.updates.flatMap(({ id, ms }) => [id, Math.ceil(ms)]),
    ]);
    const answer = answerSchema().safeParse(values);
    if (!answer.success) throw new Error("Redis gave an answer that is not one of the ledger");
    const [epoch, lost, settlingMs, pauseMs, singles, pages, free, nextMs, members] = answer.data;
    return {
      epoch,
      isLost: lost === 1,
      settlingMs,
      pauseMs,
      singles,
      pages,
      free,
      nextMs: nextMs < 0 ? undefined : nextMs,
      members,
    };
  }
}
