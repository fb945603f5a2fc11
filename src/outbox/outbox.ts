import { durationOf } from "../client/for-add-ons.js";
import type { InventoryClient } from "../client/index.js";
import { checkConfiguration, checkInput, checkMethodOptions } from "../shared/check.js";
import { copyPlainData } from "../shared/copy-of.js";
import { ConfigurationError, InputValidationError } from "../shared/errors/index.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { repeat } from "../shared/time/repeat.js";
import type { ServiceIdentity } from "../storage/service.js";
import { entryOf, type NewOutboxEntry, type OutboxEntry } from "./entry.js";
import { type MarkField, markOf, withMark } from "./marks.js";
import {
  keyProblem,
  keySchema,
  laneOf,
  newEntries,
  type PathOfEntry,
  storedEntriesOf,
  withoutRepeatedKeys,
} from "./new-entries.js";
import { OutboxStoreAccess } from "./open-store.js";
import {
  addOptionsSchema,
  entriesOptionsSchema,
  type OutboxAddOptions,
  type OutboxEntriesOptions,
  type OutboxOptions,
  type OutboxRunOptions,
  type OutboxWatchOptions,
  outboxOptionsSchema,
  pruneOptionsSchema,
  resolutionSchema,
  runOptionsSchema,
  watchOptionsSchema,
} from "./options.js";
import type { OutboxEstimate, OutboxReport, OutboxSummary } from "./report.js";
import { OutboxRun, type RunLimits } from "./run/run.js";
import {
  type EntryChange,
  entriesToSend,
  inBatches,
  type ListPage,
  NO_UNCERTAIN_ATTEMPT,
  type StoredEntry,
  whyNotCanceled,
} from "./store.js";

const DEFAULT_SETTLE_MS = 60_000;
const DEFAULT_LEASE_MS = 30_000;

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
  checkConfiguration("createOutbox", outboxOptionsSchema(), options);
  return new Outbox(options);
}

/** Created by {@link createOutbox}. All methods reject with a `StorageError` if the store fails. */
export class Outbox {
  readonly #options: OutboxOptions;
  /** @internal */
  readonly access: OutboxStoreAccess;

  /** @internal */
  constructor(options: OutboxOptions) {
    this.#options = { ...options };
    this.access = new OutboxStoreAccess(options.store, options.client?.service);
  }

  /** The service of its client. @internal */
  get service(): ServiceIdentity | undefined {
    return this.#options.client?.service;
  }

  /** Its client. Throws a `ConfigurationError` without one: nothing can be sent then. @internal */
  requireClient(method: string): InventoryClient {
    const { client } = this.#options;
    if (client !== undefined) return client;
    throw new ConfigurationError(
      `${method}: a client is required. Create the outbox with createOutbox({ client, store }).`,
    );
  }

  /** Aborted by the next `close`. @internal */
  get closed(): AbortSignal {
    return this.access.closed;
  }

  /**
   * Stores a write durably. The next `run` sends it. Adding the same key with the same input again changes nothing.
   *
   * @returns the stored entry, which may have been applied already.
   * @throws InputValidationError if the entry is wrong, or if its key was added with another input.
   */
  async add(entry: NewOutboxEntry, options: OutboxAddOptions = {}): Promise<OutboxEntry> {
    checkMethodOptions("outbox.add", addOptionsSchema, options);
    const [stored] = await this.#add("outbox.add", [entry], this.#options.mark, options, () => []);
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
    checkMethodOptions("outbox.addMany", addOptionsSchema, options);
    if (!Array.isArray(entries)) {
      throw new InputValidationError("outbox.addMany", [{ path: ["entries"], message: "must be an array" }]);
    }
    return this.#add("outbox.addMany", entries, this.#options.mark, options);
  }

  /**
   * As {@link addMany}, for plans. Receipts have their mark in the remark, whatever the option `mark` is. That
   * option cannot serve: it belongs to the process that sends the entry, which may be another one and have none. So the
   * mark is part of the input, and of its hash. A run adds no second one, see `EntryCall`.
   * @internal
   */
  async addMarked(entries: readonly NewOutboxEntry[]): Promise<OutboxEntry[]> {
    const storeId = await this.access.read(async ({ id }) => id);
    const marked = entries.map((entry) =>
      entry.operation === "receive"
        ? { ...entry, input: withMark(entry.input, "remark", markOf(storeId, entry.key)) }
        : entry,
    );
    return this.#add("outbox.addMany", marked, undefined, {});
  }

  /**
   * Sends the pending entries. Of a write that was in progress when a process ended, it first determines the outcome, before
   * anything else is sent for that item.
   * Several runs at the same time, in one process or in many, share the work.
   *
   * It resolves when every entry is settled, `unknown`, held back behind an `unknown` one, or has failed in this run. An
   * entry that has failed, such as one that is too large for a proxy, stays `pending` with its `error`; one whose outcome
   * could not be looked up stays `sending`.
   *
   * @throws the reason of the `signal`; a `DOMException` named `AbortError` if the outbox is closed.
   * @throws what the client throws if a write fails for a reason that concerns all writes, such as an
   * `AuthenticationError`, or if the entries of five items in a row fail with the same status. The writes stay
   * `pending`; those that were refused with a 403 of the service's own are `rejected`, and those whose look-up failed
   * stay `sending`.
   * @throws ConfigurationError if the store belongs to another service, or if there is no client.
   */
  async run(options: OutboxRunOptions = {}): Promise<OutboxReport> {
    checkMethodOptions("outbox.run", runOptionsSchema, options);
    return this.runWithin({}, copyPlainData(options));
  }

  /**
   * As {@link run}, for plans: within limits.
   * @internal
   */
  async runWithin(limits: RunLimits, options: OutboxRunOptions): Promise<OutboxReport> {
    const client = this.requireClient("outbox.run");
    const { mark, settleMs = DEFAULT_SETTLE_MS, leaseMs = DEFAULT_LEASE_MS } = this.#options;
    options.signal?.throwIfAborted();
    // Now, since it may be closed while the store is being opened.
    const { closed } = this;
    return this.access.recheckAndChange("outbox.run", ({ store, id: storeId }) =>
      new OutboxRun({ client, store, storeId, closed, mark, settleMs, leaseMs }, options, limits).run(),
    );
  }

  /**
   * Runs at intervals until the signal aborts or the outbox is closed, then resolves. It keeps the process alive.
   *
   * @throws what a run or `onReport` throws, unless `onError` is given; what `onError` throws.
   */
  async watch(options: OutboxWatchOptions): Promise<void> {
    checkMethodOptions("outbox.watch", watchOptionsSchema, options);
    this.requireClient("outbox.watch");
    const { everyMs, onReport, onError, ...runOptions } = copyPlainData(options);
    let nextRunAt = 0;
    await repeat({
      run: () => {
        nextRunAt = monotonicNowMs() + everyMs;
        return this.run(runOptions);
      },
      nextRunAt: () => nextRunAt,
      ends: [runOptions.signal, this.closed],
      onReport,
      onError,
    });
  }

  /** The entry with this key; `undefined` if there is none. */
  async get(key: string): Promise<OutboxEntry | undefined> {
    checkInput("outbox.get", keySchema, key, ["key"]);
    const stored = await this.access.read(({ store }) => store.get(key));
    return stored && entryOf(stored);
  }

  /** The entries in the order added. Pruned entries are left out. */
  async *entries(options: OutboxEntriesOptions = {}): AsyncGenerator<OutboxEntry, void, undefined> {
    checkMethodOptions("outbox.entries", entriesOptionsSchema, options);
    const { state, item } = options;
    const filter = { state, lane: item === undefined ? undefined : laneOf(item) };
    const list = (page: ListPage) => this.access.read(({ store }) => store.list({ ...filter, ...page }));
    for await (const stored of inBatches(list)) yield entryOf(stored);
  }

  /** Counts the entries by state, pruned ones included. It sends no request. */
  async summary(): Promise<OutboxSummary> {
    const counts = await this.access.read(({ store }) => store.count([]));
    const { pending, sending, applied, rejected, unknown, canceled, oldestUnsettledAt } = counts;
    const oldestUnsettledMs = oldestUnsettledAt === null ? null : Math.max(0, Date.now() - oldestUnsettledAt);
    return { pending, sending, applied, rejected, unknown, canceled, oldestUnsettledMs };
  }

  /**
   * Stores the decision of a person about an entry that is `unknown` or `rejected`. `"not-applied"` makes it pending
   * again.
   *
   * @returns the entry as it is now.
   * @throws InputValidationError if there is no such entry, if it is in another state, or if its contents were pruned.
   */
  async resolve(key: string, decision: "applied" | "not-applied"): Promise<OutboxEntry> {
    checkInput("outbox.resolve", resolutionSchema, decision, ["decision"]);
    const change: EntryChange =
      decision === "applied"
        ? { state: "applied", settledAt: Date.now(), error: null }
        : { state: "pending", settledAt: null, ...NO_UNCERTAIN_ATTEMPT, error: null };
    return this.#changeEntry("outbox.resolve", key, change, ({ state }) =>
      state === "unknown" || state === "rejected" ? undefined : `is ${state}, not unknown or rejected`,
    );
  }

  /**
   * Drops an entry: it will never be sent. It must be `rejected`, or `pending` and known not to have been applied.
   * Canceling it again changes nothing.
   *
   * @returns the entry as it is now.
   * @throws InputValidationError if there is no such entry, if it may have been applied, or if its contents were pruned.
   */
  async cancel(key: string): Promise<OutboxEntry> {
    const change: EntryChange = { state: "canceled", settledAt: Date.now() };
    return this.#changeEntry("outbox.cancel", key, change, whyNotCanceled);
  }

  /**
   * As {@link cancel}, for plans: also an update or discontinuation that may have been applied, since the plan has read
   * what became of it. Other entries of the item wait for that attempt: its quiet time was stored when it became pending.
   * @internal
   */
  async withdraw(key: string): Promise<OutboxEntry> {
    const change: EntryChange = { state: "canceled", settledAt: Date.now() };
    return this.#changeEntry("outbox.cancel", key, change, ({ state }) =>
      state === "pending" ? undefined : `is ${state}, not pending`,
    );
  }

  /** Estimates the requests and the duration of the next run, without failures. It sends no request. */
  async estimate(): Promise<OutboxEstimate> {
    const client = this.requireClient("outbox.estimate");
    const counts = await this.access.read(({ store }) => store.count([]));
    const entries = entriesToSend(counts);
    // An entry that was in progress is looked up, too.
    const requests = entries + counts.sending;
    return { entries, requests, durationMs: durationOf(requests, client.bulkAllowance) };
  }

  /**
   * Removes the contents of entries that were settled at least `olderThanMs` ago. Their keys and a hash of their inputs
   * stay, so that a key is always recognised.
   *
   * @returns the number of these entries.
   */
  async prune(options: { olderThanMs: number }): Promise<number> {
    checkMethodOptions("outbox.prune", pruneOptionsSchema, options);
    const settledBefore = Date.now() - options.olderThanMs;
    return this.access.change("outbox.prune", ({ store }) => store.prune({ settledBefore }));
  }

  /**
   * Closes the store. Runs end as if their signal had aborted: the requests in flight are awaited and their outcomes
   * are stored, then the run rejects with a `DOMException` named `AbortError`. A later call opens the store again.
   */
  close(): Promise<void> {
    return this.access.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Changes an entry that is not in progress. `refusal` reports why it must stay as it is. */
  async #changeEntry(
    method: string,
    key: string,
    change: EntryChange,
    refusal: (entry: StoredEntry) => string | undefined,
  ): Promise<OutboxEntry> {
    checkInput(method, keySchema, key, ["key"]);
    return this.access.change(method, async ({ store }) => {
      const entry = await store.get(key);
      if (!entry) throw keyProblem(method, `there is no entry "${key}"`);
      const problem = refusal(entry);
      if (problem !== undefined) throw keyProblem(method, `"${key}" ${problem}`);
      if (entry.input === null) throw keyProblem(method, `the contents of "${key}" were pruned`);
      if (entry.state === change.state) return entryOf(entry);
      const result = await store.update(key, { state: entry.state, attempts: entry.attempts }, change);
      if (!result?.changed) throw keyProblem(method, `"${key}" was changed at the same time`);
      return entryOf(result.entry);
    });
  }

  async #add(
    method: string,
    entries: readonly unknown[],
    mark: MarkField | undefined,
    { client }: OutboxAddOptions,
    pathOf?: PathOfEntry,
  ): Promise<OutboxEntry[]> {
    const added = newEntries(method, entries, mark, pathOf);
    if (added.length === 0) return [];
    const unique = withoutRepeatedKeys(method, added, pathOf);
    const stored = await this.access.change(method, ({ store }) => store.add(unique, client));
    return storedEntriesOf(method, added, stored, pathOf).map(entryOf);
  }
}
