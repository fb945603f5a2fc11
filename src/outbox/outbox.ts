import { accountOf } from "../client/for-add-ons.js";
import { ConfigurationError, InputValidationError, StorageError } from "../shared/errors/index.js";
import { checkConfiguration, checkInput, checkMethodOptions } from "../shared/schema.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { repeat } from "../shared/time/repeat.js";
import { mapInTurns } from "../shared/time/turn.js";
import { afterMs, race } from "../shared/time/wait.js";
import { DelayedAbort, InFlight } from "../storage/database.js";
import { assertSameAccount, type ServiceAccount } from "../storage/service.js";
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
import { runEntries, runItem } from "./run.js";
import type { OnWait } from "./sender-lock.js";
import { type SenderSettings, SendingPeriod } from "./sending-period.js";
import type { EntryChange, OpenStore, SeenKeys } from "./store.js";
import type { Opened } from "./stores.js";

/** How long an `add` in a caller's transaction waits for the store's own connection, in ms. */
const OWN_CONNECTION_WAIT_MS = 2_000;
/** If there are more entries than this, the event loop runs while they are checked and marked. */
const MANY_ENTRIES = 100;
const DEFAULT_OUTBOX_SETTLE_MS = 60_000;
const DEFAULT_LEASE_MS = 30_000;
/** How often work is begun if each time another process takes over the lock before anything was added. */
export const MAX_TAKEOVERS = 5;
/** No sender has this name. */
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
   * @param limits `maxUncertain`: after how many attempts without an outcome the item is left alone (default 2). `upTo`: the
   * place of the last entry that is sent.
   */
  runItem(
    itemID: string,
    until: number,
    failures: FailuresInARow,
    limits?: { maxUncertain?: number; upTo?: number },
  ): Promise<number>;
  /** Looks up the outcome of an entry that is `sending`. Sends no pending entry. `since`: no attempt has begun since then. */
  settle(entry: StoredEntry, since: number): Promise<void>;
  /** The time after which an attempt can no longer take effect, in ms: the largest `settleMs` of all senders. */
  settleMs: number;
}

/** Created by {@link createOutbox}. All methods reject with a `StorageError` if the store fails. */
export class Outbox {
  readonly #options: OutboxOptions;
  #opening: Opening | undefined;
  #isServiceChecked = false;
  #closed = new AbortController();
  readonly #active = new Set<Promise<unknown>>();
  readonly #inFlight = new InFlight();
  /** Resolves when the last large `addMany` has passed its entries to the store, or has failed. */
  #largeCallPassed: Promise<void> | undefined;
  /** Called when a run or `whileSender` waits. @internal */
  onWait: OnWait | undefined;

  /** @internal */
  constructor(options: OutboxOptions) {
    this.#options = options;
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
    given.signal?.throwIfAborted();
    // The service of the store may have moved since the last call.
    this.#isServiceChecked = false;
    const { signal } = given;
    return this.#withAbortableStore({ ...settings, signal }, "outbox.run", (parts) => runEntries(parts, given));
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
    return this.#change("outbox.prune", (store) => store.prune(Date.now() - olderThanMs));
  }

  /**
   * Closes the store. Runs end as if their signal had aborted: the requests in flight are awaited and their outcomes
   * are stored, then the run rejects with a `DOMException` named `AbortError`. Every wait for the database ends within
   * `leaseMs`. A later call opens the store again.
   */
  async close(): Promise<void> {
    const reason = new DOMException("The outbox was closed.", "AbortError");
    this.#closed.abort(reason);
    this.#closed = new AbortController();
    // Calls that come from now on open the store again.
    const opening = this.#opening;
    this.#opening = undefined;
    await Promise.allSettled(this.#active);
    const opened = await opening?.opened.catch(() => undefined);
    // Only iterations of entries may still use the store.
    opening?.delayedAbort.abortNow(reason);
    await opened?.store.database.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The service of the client; `undefined` if there is no client. @internal */
  get service(): ServiceAccount | undefined {
    return this.#options.client && accountOf(this.#options.client);
  }

  /** Waits until this process may send, and calls `work`. Meanwhile no other process sends. @internal */
  async whileSender(
    method: string,
    signal: AbortSignal | undefined,
    work: (access: SenderAccess) => Promise<void>,
  ): Promise<void> {
    const settings = this.#runSettings(method);
    this.#isServiceChecked = false;
    await this.#withAbortableStore({ ...settings, signal }, method, (settingsWithStore) => {
      return SendingPeriod.during(settingsWithStore, { signal, isDone: async () => false }, async (period) => {
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
    return this.#change(method, async (store) => {
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
    return this.#change(method, action);
  }

  /** Reads the store, whatever service it belongs to. @internal */
  async read<T>(action: (store: OpenStore) => Promise<T>): Promise<T> {
    const { opened, delayedAbort } = this.#open();
    return this.#track(opened.then(({ store }) => action(store.abortableBy(delayedAbort.signal))));
  }

  /** Opens the store, unless it is open. Waiting for its database is aborted one lease after the outbox was closed. */
  #open(): Opening {
    if (this.#opening) return this.#opening;
    const { client, store, settleMs, leaseMs = DEFAULT_LEASE_MS } = this.#options;
    const delayedAbort = new DelayedAbort(leaseMs);
    delayedAbort.follow(this.#closed.signal, this.#inFlight);
    let onConnection = () => {};
    const connected = new Promise<void>((resolve) => {
      onConnection = resolve;
    });
    const service = client && accountOf(client);
    const opened = store.open({ signal: delayedAbort.signal, onConnection, service, settleMs });
    const opening: Opening = { opened, connected, delayedAbort };
    this.#opening = opening;
    opened.catch(() => {
      delayedAbort.stop();
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  /**
   * Calls `work` with a store. If the signal aborts, waiting for the database is aborted one lease after the requests
   * in flight have ended.
   */
  #withAbortableStore<T>(
    { signal, ...settings }: Omit<SenderSettings, "store"> & { signal: AbortSignal | null | undefined },
    method: string,
    work: (settings: SenderSettings) => Promise<T>,
  ): Promise<T> {
    const delayedAbort = new DelayedAbort(settings.leaseMs);
    if (signal) delayedAbort.follow(signal, settings.inFlight);
    const change = (store: OpenStore) => work({ ...settings, store: store.abortableBy(delayedAbort.signal) });
    return this.#change(method, change, delayedAbort.signal).finally(() => delayedAbort.stop());
  }

  async #track<T>(result: Promise<T>): Promise<T> {
    this.#active.add(result);
    try {
      return await result;
    } finally {
      this.#active.delete(result);
    }
  }

  /**
   * Returns the settings of a sender. `closed` is the signal of the next `close`. A later `close` has another signal.
   */
  #runSettings(method: string): Omit<SenderSettings, "store"> {
    const { client, settleMs = DEFAULT_OUTBOX_SETTLE_MS, leaseMs = DEFAULT_LEASE_MS } = this.#options;
    const inFlight = new InFlight(this.#inFlight);
    const closed = this.#closed.signal;
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
    return this.#change(method, async (store) => {
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
        passOn = resolve;
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
      return this.#change(method, addTo).finally(passOn);
    }
    checked?.catch(() => {});
    created.join(client);
    return this.#track(this.#join(method, client, addTo));
  }

  /** Works in the caller's transaction. Once the store is open, no other connection is needed. */
  async #join<T>(method: string, client: unknown, action: (store: OpenStore) => Promise<T>): Promise<T> {
    const { opened, connected } = this.#open();
    const noConnection = () =>
      new StorageError(
        `${method}: the pool has had no free connection for ${OWN_CONNECTION_WAIT_MS / 1_000} s, and before the first entry the outbox ` +
          "needs one of its own. Nothing was added. Call await outbox.summary() when the program starts, or use a larger pool.",
        { location: "PostgreSQL" },
      );
    await race(Promise.race([connected, opened.then(() => {})]), afterMs(OWN_CONNECTION_WAIT_MS, noConnection));
    const { store, service, join } = await opened;
    const own = this.service;
    if (own && !this.#isServiceChecked) {
      if (service) assertSameAccount({ method, noun: "store" }, service, own);
      else await this.#checkService(method, store);
      this.#isServiceChecked = true;
    }
    return action(join(client));
  }

  /** @throws ConfigurationError if the store belongs to another service than the client. */
  #change<T>(method: string, action: (store: OpenStore) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.read(async (store) => {
      if (!this.#isServiceChecked) await this.#checkService(method, signal ? store.abortableBy(signal) : store);
      this.#isServiceChecked = true;
      return action(store);
    });
  }

  async #checkService(method: string, store: OpenStore): Promise<void> {
    const own = this.service;
    const recorded = await store.claim({ service: own, settleMs: this.#options.settleMs });
    if (own && recorded) assertSameAccount({ method, noun: "store" }, recorded, own);
  }
}

/** A store that is being opened, or is open. */
interface Opening {
  opened: Promise<Opened>;
  /** Resolves when the store has a connection. */
  connected: Promise<void>;
  /** Aborts waiting for the database. */
  delayedAbort: DelayedAbort;
}
