import { type AttemptEnd, type AttemptJournal, attemptJournalSymbol, uncheckedAs } from "../../client/for-add-ons.js";
import type { InventoryClient, RequestOptions } from "../../client/index.js";
import { onAbort } from "../../shared/time/abort.js";
import { isObject } from "../../shared/unknown.js";
import type { OutboxInputs } from "../entry.js";
import { hasMark, markOf, withMark } from "../marks.js";
import { hadUncertainAttempt, type OutboxOperation, type StoredEntry, withoutAttempt } from "../store.js";
import { BACKGROUND, type RunContext } from "./context.js";
import type { Lease } from "./lease.js";
import type { CallEnd } from "./outcome.js";

/** How a call for an entry ended. */
export interface EntryCallEnd extends CallEnd {
  /** The entry before the call. */
  before: StoredEntry;
  /** The entry as it is stored. */
  entry: StoredEntry;
  /** What the method returned. */
  result: unknown;
}

/** Calls the method of an entry, and stores each attempt before it is sent. */
export async function callForEntry(run: RunContext, entry: StoredEntry, lease: Lease): Promise<EntryCallEnd> {
  const call = new EntryCall(run, entry, lease);
  const end = { before: entry, operation: entry.operation, wasUncertain: hadUncertainAttempt(entry) };
  try {
    const result = await call.send();
    return { ...end, ...call.state, result, error: undefined };
  } catch (error) {
    await call.awaitCommit();
    return { ...end, ...call.state, result: undefined, error };
  }
}

/** One call and its attempts. */
class EntryCall implements AttemptJournal {
  readonly #run: RunContext;
  readonly #lease: Lease;
  readonly #before: StoredEntry;
  readonly #abort = new AbortController();
  #entry: StoredEntry;
  #commit: Promise<StoredEntry> | undefined;
  #isInFlight = false;
  #response: AttemptEnd["response"];
  #isUncertain = false;

  constructor(run: RunContext, entry: StoredEntry, lease: Lease) {
    this.#run = run;
    this.#lease = lease;
    this.#before = entry;
    this.#entry = entry;
  }

  get state(): { entry: StoredEntry; response: AttemptEnd["response"]; isUncertain: boolean } {
    return { entry: this.#entry, response: this.#response, isUncertain: this.#isUncertain };
  }

  async send(): Promise<unknown> {
    const { ended, stopped } = this.#lease;
    const abort = () => this.#abort.abort(stopped.reason);
    const stops = [onAbort(ended, abort), onAbort(stopped, () => !this.#isInFlight && abort())];
    if (stopped.aborted) abort();
    const options = { ...BACKGROUND, signal: this.#abort.signal, [attemptJournalSymbol]: this };
    try {
      return await callMethod(this.#run.settings.client, this.#entry.operation, this.#body, options);
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Waits for a commit that the call no longer waits for, since it was aborted. */
  async awaitCommit(): Promise<void> {
    await this.#commit?.catch(() => {});
  }

  async beforeSend(clockAheadMs: number | undefined): Promise<void> {
    this.#response = undefined;
    this.#lease.assertMayBegin();
    const isFirst = !hadUncertainAttempt(this.#entry);
    const sent = isFirst ? { sentAt: Date.now(), clockAheadMs: clockAheadMs ?? null } : {};
    const start = { body: JSON.stringify(this.#body), error: null, ...sent };
    await this.#adopt(this.#run.commits.beginAttempt(this.#entry, start));
  }

  assertMaySend(): void {
    this.#lease.assertMayBegin();
    this.#run.addRequests(1);
    this.#isInFlight = true;
  }

  attemptEnded({ response, mayHaveBeenApplied }: AttemptEnd): void {
    this.#isInFlight = false;
    this.#response = response;
    this.#isUncertain ||= mayHaveBeenApplied;
  }

  async beforeRetry(): Promise<void> {
    if (!this.#isUncertain && this.#entry.state === "sending") {
      const change = { state: "pending", ...withoutAttempt(this.#before) } as const;
      await this.#adopt(this.#run.commits.storeAttemptOutcome(this.#entry, change));
    }
    this.#lease.stopped.throwIfAborted();
  }

  /** From now on, the entry is what was stored. */
  async #adopt(commit: Promise<StoredEntry>): Promise<void> {
    this.#commit = commit.then((entry) => {
      this.#entry = entry;
      return entry;
    });
    await this.#commit;
  }

  /** What is sent: the same in every attempt, whatever the options are by then. */
  get #body(): object {
    const { operation, key, body, input } = this.#entry;
    const stored: unknown = JSON.parse(body ?? input ?? "null");
    if (!isObject(stored)) throw new TypeError(`the store has no input of ${key}`);
    const { mark, storeId } = this.#run.settings;
    const own = markOf(storeId, key);
    // The input of a stock count has its mark already, whatever the option is: see `outbox.addMarked`.
    const lacksMark = body === null && operation === "receive" && !hasMark(stored, own);
    return mark && lacksMark ? withMark(stored, mark, own) : stored;
  }
}

/** The method checks its arguments, so what was stored is checked again. */
function callMethod(
  { inventory, items }: InventoryClient,
  operation: OutboxOperation,
  body: object,
  options: RequestOptions,
): Promise<unknown> {
  const methods: { [Operation in OutboxOperation]: (input: OutboxInputs[Operation]) => Promise<unknown> } = {
    receive: (input) => inventory.receive(input, options),
    move: (input) => inventory.move(input, options),
    issue: (input) => inventory.issue(input, options),
    create: (input) => items.create(input, options),
    update: ({ shortID, ...changes }) => items.update(shortID, changes, options),
    discontinue: ({ shortID }) => items.discontinue(shortID, options),
  };
  return methods[operation](uncheckedAs<never>(body));
}
