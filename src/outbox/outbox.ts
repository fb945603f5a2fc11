import { ConfigurationError, InputValidationError } from "../shared/errors/index.js";
import { checkConfiguration, checkInput, checkMethodOptions } from "../shared/schema.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { repeat } from "../shared/time/repeat.js";
import { mapInTurns } from "../shared/time/turn.js";
import { InFlight } from "../storage/database.js";
import type { ServiceAccount } from "../storage/service.js";
import { FailuresInARow } from "../writes/failures-in-a-row.js";
import {
  entryKeySchema,
  entryOf,
  errorJson,
  keyProblem,
  laneOf,
  manyNewEntries,
  markedEntry,
  type NewEntry,
  newEntries,
  type OutboxEntry,
  type OutboxEntryInput,
  type StoredEntry,
} from "./entry.js";
import {
  addManyOptionsSchema,
  addOptionsSchema,
  DEFAULT_OUTBOX_SETTLE_MS,
  entriesOptionsSchema,
  type OutboxAddManyOptions,
  type OutboxAddOptions,
  type OutboxEntriesOptions,
  type OutboxOptions,
  type OutboxRunOptions,
  type OutboxWatchOptions,
  outboxOptionsSchema,
  outboxRunOptionsSchema,
  outboxWatchOptionsSchema,
  pruneOptionsSchema,
  resolutionSchema,
} from "./options.js";
import type { OutboxReport, OutboxSummary } from "./report.js";
import { type ItemLimits, runEntries, runItem } from "./run.js";
import type { OnWait } from "./sender-lock.js";
import { type SenderSettings, SendingPeriod } from "./sending-period.js";
import type { EntryChange, OpenStore, SeenKeys } from "./store.js";
import { StoreAccess } from "./store-access.js";

/** If there are more entries than this, the event loop runs while they are checked and marked. */
const MANY_ENTRIES = 100;
/** How often work is begun if each time another process takes over the lock before anything was added. */
export const MAX_TAKEOVERS = 5;
const NOBODY = "nobody";

/**
 * Creates an outbox: writes that survive the process. `add` stores them, `run` sends them. A write is never lost and
 * never applied twice, even if the process is killed at any moment. The guide "Outbox" lists the conditions.
 *
 * @example
 * import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
 *
 * const outbox = createOutbox({
 *   client,
 *   store: sqliteOutboxStore({ path: "outbox.db" }),
 * });
 * await outbox.add({
 *   key: "asn-4711-1",
 *   operation: "receive",
 *   input: { itemID: "BOLT-M8", units: 50, wid: 3, reasonCode: 1 },
 * });
 * const report = await outbox.run();
 * console.log(report);
 * await outbox.close();
 * @throws ConfigurationError if an option is wrong, or if `settleMs` is less than the client's `timeoutMs`.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  const given = checkConfiguration("createOutbox", outboxOptionsSchema(), options);
  const { client, settleMs = DEFAULT_OUTBOX_SETTLE_MS } = given;
  if (client && client.timeoutMs > settleMs)
    throw new ConfigurationError(
      `createOutbox: settleMs (${settleMs}) must be at least the client's timeoutMs (${client.timeoutMs}): a request may still ` +
        "take effect while the client waits for its response. Set a longer settleMs, or a shorter timeoutMs.",
    );
  return new Outbox(given);
}

/** The actions of a caller while no other process sends. */
export interface SenderAccess {
  /** Aborted when nothing more may be sent. */
  signal: AbortSignal;
  /** Adds entries that only this sender may send. A later sender cancels them. */
  addBound(entries: readonly OutboxEntryInput[]): Promise<StoredEntry[]>;
  /**
   * Sends the open entries of an item, until a time by the monotonic clock. Returns the number of requests.
   *
   * @param failures The failures of the items before.
   */
  runItem(
    itemID: string,
    until: number,
    failures: FailuresInARow,
    limits?: Pick<ItemLimits, "maxUncertain" | "upTo">,
  ): Promise<number>;
  /** Looks up the outcome of an entry that is `sending`. Sends no pending entry. `since`: no attempt has begun since then. */
  settle(entry: StoredEntry, since: number): Promise<void>;
  /** The time after which an attempt can no longer take effect, in ms: the largest `settleMs` of all senders. */
  settleMs: number;
}

/** Created by {@link createOutbox}. All methods reject with a `StorageError` if the store fails. */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #access: StoreAccess;
  /** Resolves when the last large `addMany` has passed its entries to the store, or has failed. */
  #largeCallPassed: Promise<void> | undefined;
  /** Called when a run or `whileSender` waits. @internal */
  onWait: OnWait | undefined;

  /** @internal */
  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#access = new StoreAccess(options);
  }

  /**
   * Stores a write durably. The next `run` sends it. Adding the same key with the same input again changes nothing.
   *
   * @returns the stored entry, which may have been applied already.
   * @throws InputValidationError if the entry is wrong, or if its key was added with another input.
   * @throws ConfigurationError if the store belongs to another service, or if `client` is connected to another database.
   * @throws StorageError if the database fails, or if its pool has no free connection for two seconds, see the option `client`.
   */
  async add(entry: OutboxEntryInput, options: OutboxAddOptions = {}): Promise<OutboxEntry> {
    const given = checkMethodOptions("outbox.add", addOptionsSchema, options);
    const [stored] = await this.#add("outbox.add", [entry], given, () => []);
    if (!stored) throw new TypeError("the store did not return the entry");
    return stored;
  }

  /**
   * Stores writes durably, all in one transaction. Writes that were added before are not changed, except rejected writes with
   * `replaceRejected`.
   *
   * @returns the stored entries, in the same order.
   * @throws InputValidationError if entries are wrong, with the issues of all of them (each `path` begins with the
   * index), or if a key was added with another input. Then nothing is added.
   */
  async addMany(entries: readonly OutboxEntryInput[], options: OutboxAddManyOptions = {}): Promise<OutboxEntry[]> {
    const given = checkMethodOptions("outbox.addMany", addManyOptionsSchema, options);
    if (Array.isArray(entries)) return this.#add("outbox.addMany", entries, given, (index) => [index]);
    throw new InputValidationError("outbox.addMany", [{ path: ["entries"], message: "must be an array" }]);
  }

  /**
   * Sends the pending entries. If a process ended while it was sending a write, the outcome of that write is looked up before
   * anything else is sent for its item. If several runs are active, in one process or in many, one run sends and the others
   * wait.
   *
   * `run` resolves when every entry that was stored at the time of the call is settled (by any process), is `unknown` or behind
   * an `unknown` entry, or has failed in this run. A failed entry, for example one that is too large for a proxy, stays
   * `pending` with its `error`. An entry stays `sending` if its second attempt ended without an outcome, or if its outcome
   * could not be looked up.
   *
   * @throws the reason of the `signal`; a `DOMException` named `AbortError` if the outbox is closed.
   * @throws what the client throws if a write fails for a reason that concerns all writes, such as an
   * `AuthenticationError`, or if five different items in a row fail with the same status. The writes stay `pending`.
   * @throws ConfigurationError if the store belongs to another service, or if there is no client.
   * @throws StorageError if the database has lost commits. Its message names the keys that were sent since.
   */
  async run(options: OutboxRunOptions = {}): Promise<OutboxReport> {
    const given = checkMethodOptions("outbox.run", outboxRunOptionsSchema, options);
    const settings = this.#runSettings("outbox.run");
    const { signal } = given;
    signal?.throwIfAborted();
    return this.#access.changeUntil({ ...settings, signal }, "outbox.run", (store) =>
      runEntries({ ...settings, store }, given),
    );
  }

  /**
   * Runs at intervals until the signal aborts or the outbox is closed, then resolves. It keeps the process alive.
   *
   * @throws what a run or `onReport` throws, unless `onError` is given; what `onError` throws.
   */
  async watch(options: OutboxWatchOptions): Promise<void> {
    const given = checkMethodOptions("outbox.watch", outboxWatchOptionsSchema, options);
    const { closed } = this.#runSettings("outbox.watch");
    const { everyMs, onReport, onError, ...runOptions } = given;
    let nextRunAt = 0;
    await repeat({
      run: () => {
        nextRunAt = monotonicNowMs() + everyMs;
        return this.run(runOptions);
      },
      nextRunAt: () => nextRunAt,
      ends: [runOptions.signal, closed],
      onReport,
      onError,
    });
  }

  /** Returns the entry with this key; `undefined` if there is none. */
  async get(key: string): Promise<OutboxEntry | undefined> {
    checkInput("outbox.get", entryKeySchema, key, ["key"]);
    const stored = await this.read((store) => store.get(key));
    return stored && entryOf(stored);
  }

  /**
   * Returns the entries in the order added. Pruned entries are left out.
   *
   * @throws a `DOMException` named `AbortError` if the outbox is closed meanwhile.
   */
  async *entries(options: OutboxEntriesOptions = {}): AsyncGenerator<OutboxEntry, void, undefined> {
    const { state, item } = checkMethodOptions("outbox.entries", entriesOptionsSchema, options);
    const store = await this.read(async (opened) => opened);
    for await (const stored of store.list({ state, lane: item && laneOf(item) })) yield entryOf(stored);
  }

  /** Counts the entries by state, including pruned entries. It sends no request. */
  async summary(): Promise<OutboxSummary> {
    const { oldestUnsettledAt, toSend: _, ...states } = await this.read((store) => store.count());
    const oldestUnsettledMs = oldestUnsettledAt === null ? null : Math.max(0, Date.now() - oldestUnsettledAt);
    return { ...states, oldestUnsettledMs };
  }

  /**
   * Stores the decision of a person about an entry that is `unknown` or `rejected`. With `"not-applied"`, the entry becomes
   * pending again. It keeps its `error`, with the message of the service, until the next attempt. `resolvedAt` is the time of
   * the decision, and `resolvedFrom` the state before.
   *
   * @returns the entry as it is now.
   * @throws InputValidationError if there is no such entry, or if it is in another state.
   */
  async resolve(key: string, decision: "applied" | "not-applied"): Promise<OutboxEntry> {
    checkInput("outbox.resolve", resolutionSchema, decision, ["decision"]);
    const now = Date.now();
    const changed: EntryChange =
      decision === "applied" ? { state: "applied", settledAt: now } : { state: "pending", settledAt: null };
    const change = ({ state }: StoredEntry): EntryChange =>
      state === "unknown" || state === "rejected" ? { ...changed, resolvedAt: now, resolvedFrom: state } : changed;
    return this.#changeEntry("outbox.resolve", key, change, ["unknown", "rejected"]);
  }

  /**
   * Drops an entry that is `rejected` or `pending`: it will never be sent. Canceling it again changes nothing.
   *
   * @returns the entry as it is now.
   * @throws InputValidationError if there is no such entry, or if it may have been applied.
   */
  async cancel(key: string): Promise<OutboxEntry> {
    const change: EntryChange = { state: "canceled", settledAt: Date.now() };
    return this.#changeEntry("outbox.cancel", key, () => change, ["rejected", "pending", "canceled"]);
  }

  /**
   * Removes the contents of entries that were applied or canceled at least `olderThanMs` ago. Their keys and a hash of their
   * inputs stay, so that a key is always recognised. A rejected entry keeps its contents: somebody may correct or repeat it.
   *
   * @returns the number of pruned entries.
   */
  async prune(options: { olderThanMs: number }): Promise<number> {
    const { olderThanMs } = checkMethodOptions("outbox.prune", pruneOptionsSchema, options);
    return this.#access.change("outbox.prune", (store) => store.prune(Date.now() - olderThanMs));
  }

  /**
   * Closes the store. Runs end as if their signal had aborted: the requests in flight are awaited and their outcomes
   * are stored, then the run rejects with a `DOMException` named `AbortError`. Every wait for the database ends within
   * `leaseMs`. A later call opens the store again.
   */
  async close(): Promise<void> {
    await this.#access.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The service of the client; `undefined` if there is no client. @internal */
  get service(): ServiceAccount | undefined {
    return this.#access.service;
  }

  /** Waits until this process may send, and calls `work`. Meanwhile no other process sends. @internal */
  async whileSender(
    method: string,
    signal: AbortSignal | undefined,
    work: (access: SenderAccess) => Promise<void>,
  ): Promise<void> {
    const settings = this.#runSettings(method);
    await this.#access.changeUntil({ ...settings, signal }, method, (opened) => {
      const options = { signal, isDone: async () => false };
      return SendingPeriod.during({ ...settings, store: opened }, options, async (period) => {
        const { lock, store } = period;
        await work({
          signal: period.stop.signal,
          addBound: async (given) => {
            const { mark = "remark" } = this.#options;
            const entries = newEntries(method, given, mark, (index) => [index]);
            const bound = entries.map((entry) => ({ ...markedEntry(entry, store.id, mark), boundTo: lock.name }));
            return await store.add(method, bound);
          },
          runItem: (itemID, until, failures, limits) => runItem(period, laneOf(itemID), { until, failures, ...limits }),
          settle: async ({ lane }, settlesSince) => {
            await runItem(period, lane, { until: Infinity, failures: new FailuresInARow(), settlesSince });
          },
          settleMs: lock.settleMs,
        });
        return true;
      });
    });
  }

  /** Stores an entry that nobody ever sends, unless its key is known. Returns the entry with the key. @internal */
  async addCanceled(method: string, entry: OutboxEntryInput, reason: object): Promise<StoredEntry> {
    const { mark = "remark" } = this.#options;
    const checked = newEntries(method, [entry], mark, () => []);
    return this.#access.change(method, async (store) => {
      const bound = checked.map((one) => ({ ...markedEntry(one, store.id, mark), boundTo: NOBODY }));
      const [stored] = await store.add(method, bound);
      if (!stored) throw new TypeError("the store did not return the entry");
      if (stored.state !== "pending" || stored.boundTo !== NOBODY) return stored;
      const change = { state: "canceled", settledAt: Date.now(), error: errorJson(reason) } as const;
      return (await store.change(stored, change)) ?? (await store.get(entry.key)) ?? stored;
    });
  }

  /** Adds entries. Throws `KeysHaveGrown` if keys of their kind were added since they were `seen`. @internal */
  async addIfSeen(
    method: string,
    entries: readonly OutboxEntryInput[],
    options: OutboxAddManyOptions & { seen: SeenKeys },
  ): Promise<void> {
    await this.#add(method, entries, options, (index) => [index]);
  }

  /** Reads the store, which must belong to the service of the client. @internal */
  readOwn<T>(method: string, action: (store: OpenStore) => Promise<T>): Promise<T> {
    return this.#access.change(method, action);
  }

  /** Reads the store, whatever service it belongs to. @internal */
  read<T>(action: (store: OpenStore) => Promise<T>): Promise<T> {
    return this.#access.read(action);
  }

  #runSettings(method: string): Omit<SenderSettings, "store"> {
    const { client, settleMs = DEFAULT_OUTBOX_SETTLE_MS } = this.#options;
    const inFlight = new InFlight(this.#access.inFlight);
    const { closed, leaseMs } = this.#access;
    if (client !== undefined) return { client, settleMs, leaseMs, closed, inFlight, onWait: this.onWait };
    const what = `${method}: a client is required. Create the outbox with createOutbox({ client, store }).`;
    throw new ConfigurationError(what);
  }

  async #changeEntry(
    method: string,
    key: string,
    changeOf: (entry: StoredEntry) => EntryChange,
    from: readonly StoredEntry["state"][],
  ): Promise<OutboxEntry> {
    checkInput(method, entryKeySchema, key, ["key"]);
    return this.#access.change(method, async (store) => {
      const entry = await store.get(key);
      if (!entry) throw keyProblem(method, `there is no entry "${key}"`);
      if (!from.includes(entry.state)) throw keyProblem(method, `"${key}" is ${entry.state}, not ${from.join(" or ")}`);
      const change = changeOf(entry);
      if (entry.state === change.state) return entryOf(entry);
      const changed = await store.change(entry, change);
      if (!changed) throw keyProblem(method, `"${key}" was changed at the same time: read it again`);
      return entryOf(changed);
    });
  }

  async #add(
    method: string,
    given: readonly unknown[],
    { client, replaceRejected, seen }: OutboxAddManyOptions & { seen?: SeenKeys },
    pathOf: (index: number) => number[],
  ): Promise<OutboxEntry[]> {
    const { mark = "remark", store: created } = this.#options;
    const isLarge = given.length > MANY_ENTRIES;
    // Copied at once, since the caller may change the entries while the store is being opened.
    const entries = isLarge ? undefined : newEntries(method, given, mark, pathOf);
    const checked = isLarge ? manyNewEntries(method, given, mark, pathOf) : undefined;
    // A large call prepares its entries in turns, so a later call could overtake it. Each call therefore waits for the
    // last large call before it, which calls `passOn` when the store has its entries, or when it fails.
    const earlierLargeCall = this.#largeCallPassed;
    let passOn = () => {};
    if (isLarge && client === undefined)
      this.#largeCallPassed = new Promise((resolve) => {
        // A call that fails early must not let a later call overtake an earlier one.
        passOn = () => resolve(earlierLargeCall);
      });
    const addTo = async (store: OpenStore) => {
      const ready = entries ?? (await checked) ?? [];
      const marked = (entry: NewEntry) => markedEntry(entry, store.id, mark);
      const added = isLarge ? await mapInTurns(ready, marked) : ready.map(marked);
      if (earlierLargeCall && client === undefined) await earlierLargeCall;
      const stored = store.add(method, added, { replaceRejected, pathOf, seen });
      passOn();
      return isLarge ? mapInTurns(await stored, entryOf) : (await stored).map(entryOf);
    };
    if (client === undefined) {
      if (checked) await checked.catch(() => passOn()).then(() => checked);
      return this.#access.change(method, addTo).finally(passOn);
    }
    checked?.catch(() => {});
    created.join(client);
    return this.#access.track(this.#access.join(method, client, addTo));
  }
}
