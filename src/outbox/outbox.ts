import { checkInput } from "../core/request/check-input.js";
import { copyPlainData } from "../core/request/copy-of.js";
import { InputValidationError } from "../errors/index.js";
import { entryOf, type NewOutboxEntry, type OutboxEntry } from "./entry.js";
import { durationOf } from "./estimate.js";
import { keySchema, newEntries, newEntry } from "./new-entries.js";
import {
  checkAddOptions,
  checkEntriesOptions,
  checkOutboxOptions,
  checkPruneOptions,
  checkResolution,
  checkRunOptions,
  checkWatchOptions,
  type OutboxAddOptions,
  type OutboxEntriesOptions,
  type OutboxOptions,
  type OutboxRunOptions,
  type OutboxWatchOptions,
} from "./options.js";
import type { OutboxEstimate, OutboxReport } from "./report.js";
import { openEntries } from "./run/progress.js";
import { runOutbox } from "./run/run.js";
import type { EntryChange, NewEntry, StoredEntry } from "./store.js";
import { watchOutbox } from "./watch.js";

const DEFAULT_SETTLE_MS = 60_000;
const DEFAULT_LEASE_MS = 30_000;
const LIST_BATCH = 500;

/**
 * Creates an outbox: writes that survive the process. `add` stores them, `run` sends them. A write is never lost and
 * never applied twice, even if the process is killed at any moment. The guide "Reliable writes" lists the conditions.
 *
 * @example
 * import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
 *
 * const outbox = createOutbox({ client, store: sqliteOutboxStore({ path: "outbox.db" }) });
 * await outbox.add({ key: "asn-4711-1", operation: "receive", input: { itemID: "BOLT-M8", units: 50, wid: 3, reasonCode: 1 } });
 * const report = await outbox.run();
 * console.log(`${report.applied} applied, ${report.rejected} rejected, ${report.unknown} unknown`);
 * await outbox.close();
 * @throws ConfigurationError if an option is wrong.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  checkOutboxOptions(options);
  return new Outbox(options);
}

/** Created by {@link createOutbox}. All methods reject with a `StorageError` if the store fails. */
export class Outbox {
  readonly #options: OutboxOptions;
  #opened: Promise<string> | undefined;

  /** @internal */
  constructor(options: OutboxOptions) {
    this.#options = { ...options };
  }

  /**
   * Stores a write durably. The next `run` sends it. Adding the same key with the same input again changes nothing.
   *
   * @returns the stored entry, which may have been applied already.
   * @throws InputValidationError if the entry is wrong, or if its key was added with another input.
   */
  async add(entry: NewOutboxEntry, options: OutboxAddOptions = {}): Promise<OutboxEntry> {
    checkAddOptions("outbox.add", options);
    const added = newEntry("outbox.add", entry, this.#options.mark, []);
    const [stored] = await this.#add("outbox.add", [added], options, () => []);
    if (!stored) throw new TypeError("the store did not return the entry");
    return stored;
  }

  /**
   * Stores writes durably, all in one transaction. Writes that were added before are not changed.
   *
   * @returns the stored entries, in the same order.
   * @throws InputValidationError if entries are wrong, with the issues of all of them (each `path` begins with the
   * index), or if a key was added with another input. Then nothing is added.
   */
  async addMany(entries: readonly NewOutboxEntry[], options: OutboxAddOptions = {}): Promise<OutboxEntry[]> {
    checkAddOptions("outbox.addMany", options);
    if (!Array.isArray(entries)) {
      throw new InputValidationError("outbox.addMany", [{ path: ["entries"], message: "must be an array" }]);
    }
    const added = newEntries("outbox.addMany", entries, this.#options.mark);
    return added.length === 0 ? [] : this.#add("outbox.addMany", added, options, (index) => [index]);
  }

  /**
   * Sends the pending entries. First it determines the outcome of writes that were in progress when a process ended.
   * Several runs at the same time, in one process or in many, share the work.
   *
   * It resolves when every entry is settled, `unknown`, held back behind an `unknown` one, or left for the next run
   * because the service failed to process it.
   *
   * @throws the reason of the `signal`.
   * @throws what the client throws if a write fails for a reason that concerns all writes, such as an
   * `AuthenticationError`. The write stays `pending`.
   */
  async run(options: OutboxRunOptions = {}): Promise<OutboxReport> {
    checkRunOptions(options);
    const { client, store, mark, settleMs = DEFAULT_SETTLE_MS, leaseMs = DEFAULT_LEASE_MS } = this.#options;
    const runOptions = copyPlainData(options);
    runOptions.signal?.throwIfAborted();
    const storeId = await this.#open();
    return runOutbox({ client, store, storeId, mark, settleMs, leaseMs }, runOptions);
  }

  /**
   * Runs at intervals until the signal aborts, then resolves. It keeps the process alive.
   *
   * @throws what a run or `onReport` throws, unless `onError` is given; what `onError` throws.
   */
  async watch(options: OutboxWatchOptions): Promise<void> {
    checkWatchOptions(options);
    await watchOutbox((runOptions) => this.run(runOptions), copyPlainData(options));
  }

  /** The entry with this key; `undefined` if there is none. */
  async get(key: string): Promise<OutboxEntry | undefined> {
    checkInput("outbox.get", keySchema, key, ["key"]);
    await this.#open();
    const stored = await this.#options.store.get(key);
    return stored && entryOf(stored);
  }

  /** The entries in the order added. Pruned entries are left out. */
  async *entries(options: OutboxEntriesOptions = {}): AsyncGenerator<OutboxEntry, void, undefined> {
    checkEntriesOptions(options);
    const { state } = options;
    await this.#open();
    for (let after = 0; ; ) {
      const batch = await this.#options.store.list({ state, after, limit: LIST_BATCH });
      for (const stored of batch) {
        after = stored.sequence;
        yield entryOf(stored);
      }
      if (batch.length < LIST_BATCH) return;
    }
  }

  /**
   * Stores the decision of a person about an entry that is `unknown` or `rejected`. `"not-applied"` makes it pending
   * again.
   *
   * @returns the entry as it is now.
   * @throws InputValidationError if there is no such entry, if it is in another state, or if its contents were pruned.
   */
  async resolve(key: string, decision: "applied" | "not-applied"): Promise<OutboxEntry> {
    checkInput("outbox.resolve", keySchema, key, ["key"]);
    checkResolution(decision);
    await this.#open();
    const entry = await this.#options.store.get(key);
    if (!entry) throw keyProblem("outbox.resolve", [], `there is no entry "${key}"`);
    if (entry.state !== "unknown" && entry.state !== "rejected") {
      throw keyProblem("outbox.resolve", [], `"${key}" is ${entry.state}, not unknown or rejected`);
    }
    if (entry.input === null) throw keyProblem("outbox.resolve", [], `the contents of "${key}" were pruned`);
    const change: EntryChange =
      decision === "applied"
        ? { state: "applied", settledAt: Date.now() }
        : { state: "pending", settledAt: null, sentAt: null, clockAheadMs: null, error: null };
    const condition = { state: [entry.state], attempts: entry.attempts };
    const result = await this.#options.store.update(key, condition, change);
    if (!result?.changed) throw keyProblem("outbox.resolve", [], `"${key}" was changed at the same time`);
    return entryOf(result.entry);
  }

  /** Estimates the requests and the duration of the next run, without failures. It sends no request. */
  async estimate(): Promise<OutboxEstimate> {
    await this.#open();
    const counts = await this.#options.store.count([]);
    const entries = openEntries(counts);
    // An entry that was in progress is looked up, too.
    const requests = entries + counts.sending;
    return { entries, requests, durationMs: durationOf(requests, this.#options.client.rateLimit) };
  }

  /**
   * Removes the contents of entries that were `applied` or `rejected` at least `olderThanMs` ago. Their keys and a hash
   * of their inputs stay, so that a key is always recognised.
   *
   * @returns the number of these entries.
   */
  async prune(options: { olderThanMs: number }): Promise<number> {
    checkPruneOptions(options);
    await this.#open();
    return this.#options.store.prune({ settledBefore: Date.now() - options.olderThanMs });
  }

  /** Closes the store. A later call opens it again. */
  async close(): Promise<void> {
    if (!this.#opened) return;
    this.#opened = undefined;
    await this.#options.store.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #add(
    method: string,
    added: readonly NewEntry[],
    { client }: OutboxAddOptions,
    pathOf: (index: number) => number[],
  ): Promise<OutboxEntry[]> {
    const byKey = new Map<string, NewEntry>();
    for (const [index, entry] of added.entries()) {
      const other = byKey.get(entry.key);
      if (other && other.inputHash !== entry.inputHash) throw otherInput(method, pathOf(index), entry);
      byKey.set(entry.key, other ?? entry);
    }
    await this.#open();
    const stored = await this.#options.store.add([...byKey.values()], client);
    const storedByKey = new Map(stored.map((entry): [string, StoredEntry] => [entry.key, entry]));
    for (const [index, entry] of added.entries()) {
      const { inputHash = entry.inputHash } = storedByKey.get(entry.key) ?? {};
      if (inputHash !== entry.inputHash) throw otherInput(method, pathOf(index), entry);
    }
    return added.map(({ key }) => {
      const entry = storedByKey.get(key);
      if (!entry) throw new TypeError(`the store did not return the entry "${key}"`);
      return entryOf(entry);
    });
  }

  /** Opens the store at first use, and again after it failed. */
  #open(): Promise<string> {
    const opened = this.#opened ?? this.#options.store.open();
    this.#opened = opened;
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }
}

const keyProblem = (method: string, at: number[], message: string) =>
  new InputValidationError(method, [{ path: [...at, "key"], message }]);

const otherInput = (method: string, at: number[], { key }: NewEntry) =>
  keyProblem(method, at, `"${key}" was added before with another operation or input. Nothing was added.`);
