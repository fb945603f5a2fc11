import { accountOf } from "../client/for-add-ons.js";
import { StorageError } from "../shared/errors/index.js";
import { afterMs, race } from "../shared/time/wait.js";
import { DelayedAbort, InFlight } from "../storage/database.js";
import { assertSameAccount, type ServiceAccount } from "../storage/service.js";
import type { OutboxOptions } from "./options.js";
import type { OpenStore } from "./store.js";
import type { Opened } from "./stores.js";

/*
 * Opens the store of an outbox at its first use, and again after `close`.
 *
 *   method        the service of the store is   waiting for the database is aborted
 *   read          not checked                   a lease after `close`
 *   change        checked once                  a lease after `close`
 *   changeUntil   checked once                  a lease after `close`, or after its own signal
 *   join          checked once                  never: the database is that of the caller's transaction
 *
 * "A lease after" a signal counts from the end of the requests in flight, whose outcomes are stored first.
 */

/** How long an `add` in a caller's transaction waits for the store's own connection, in ms. */
const OWN_CONNECTION_WAIT_MS = 2_000;

/** A store that is being opened, or is open. */
interface Opening {
  opened: Promise<Opened>;
  /** Resolves when the store has a connection. */
  connected: Promise<void>;
  delayedAbort: DelayedAbort;
}

const DEFAULT_LEASE_MS = 30_000;

type StoreAction<T> = (store: OpenStore) => Promise<T>;

export class StoreAccess {
  /** The requests under way whose outcomes must still be stored. */
  readonly inFlight = new InFlight();
  /** How long the lock of a sender lasts without a heartbeat, in ms. */
  readonly leaseMs: number;
  readonly #active = new Set<Promise<unknown>>();
  #opening: Opening | undefined;
  #isServiceChecked = false;
  #closed = new AbortController();

  constructor(private readonly options: OutboxOptions) {
    this.leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
  }

  get service(): ServiceAccount | undefined {
    return this.options.client && accountOf(this.options.client);
  }

  /** The signal of the next `close`. A later `close` has another signal. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  read<T>(action: StoreAction<T>): Promise<T> {
    const { opened, delayedAbort } = this.#open();
    return this.track(opened.then(({ store }) => action(store.abortableBy(delayedAbort.signal))));
  }

  /** @throws ConfigurationError if the store belongs to another service than the client. */
  change<T>(method: string, action: StoreAction<T>, signal?: AbortSignal): Promise<T> {
    return this.read(async (store) => {
      if (!this.#isServiceChecked) await this.#checkService(method, signal ? store.abortableBy(signal) : store);
      this.#isServiceChecked = true;
      return action(store);
    });
  }

  /** The same for a long action. The service is checked again: the store may have moved since the last call. */
  changeUntil<T>(
    { signal, inFlight }: { signal: AbortSignal | null | undefined; inFlight: InFlight },
    method: string,
    action: StoreAction<T>,
  ): Promise<T> {
    this.#isServiceChecked = false;
    const delayedAbort = new DelayedAbort(this.leaseMs);
    if (signal) delayedAbort.follow(signal, inFlight);
    const change = (store: OpenStore) => action(store.abortableBy(delayedAbort.signal));
    return this.change(method, change, delayedAbort.signal).finally(() => delayedAbort.stop());
  }

  /** Works in the caller's transaction. Once the store is open, no other connection is needed. */
  async join<T>(method: string, client: unknown, action: StoreAction<T>): Promise<T> {
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

  /** Makes `close` wait for the result. */
  async track<T>(result: Promise<T>): Promise<T> {
    this.#active.add(result);
    try {
      return await result;
    } finally {
      this.#active.delete(result);
    }
  }

  /** Aborts `closed`, waits for everything that uses the store, and closes the store. */
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

  #open(): Opening {
    if (this.#opening) return this.#opening;
    const { store, settleMs } = this.options;
    const delayedAbort = new DelayedAbort(this.leaseMs);
    delayedAbort.follow(this.closed, this.inFlight);
    let onConnection = () => {};
    const connected = new Promise<void>((resolve) => {
      onConnection = resolve;
    });
    const opened = store.open({ signal: delayedAbort.signal, onConnection, service: this.service, settleMs });
    const opening: Opening = { opened, connected, delayedAbort };
    this.#opening = opening;
    opened.catch(() => {
      delayedAbort.stop();
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async #checkService(method: string, store: OpenStore): Promise<void> {
    const own = this.service;
    const recorded = await store.claim({ service: own, settleMs: this.options.settleMs });
    if (own && recorded) assertSameAccount({ method, noun: "store" }, recorded, own);
  }
}
