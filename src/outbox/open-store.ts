import { assertSameService, type ServiceIdentity } from "../storage/service.js";
import type { OutboxStore } from "./store.js";

/** What an action may use. */
interface OpenedStore {
  store: OutboxStore;
  /** The id of the store. */
  id: string;
}

/**
 * The store of an outbox. It is opened by the first action, and by the first one after a failure or `close`. `close`
 * waits for the actions in progress.
 */
export class OutboxStoreAccess {
  readonly #store: OutboxStore;
  /** The service that the store must belong to before anything is changed; `undefined` without a client. */
  readonly #service: ServiceIdentity | undefined;
  readonly #active = new Set<Promise<unknown>>();
  #opened: Promise<string> | undefined;
  #isServiceChecked = false;
  #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(store: OutboxStore, service: ServiceIdentity | undefined) {
    this.#store = store;
    this.#service = service;
  }

  /** Aborted by the next `close`. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Anybody may read, whatever service the store belongs to. */
  read<T>(action: (opened: OpenedStore) => Promise<T>): Promise<T> {
    return this.#use(action);
  }

  /**
   * As {@link change}, which asks the store only once whose it is. This asks again, since its service may have moved.
   * Use it for what takes long, so that the question costs little.
   */
  recheckAndChange<T>(method: string, action: (opened: OpenedStore) => Promise<T>): Promise<T> {
    this.#isServiceChecked = false;
    return this.change(method, action);
  }

  /** @throws ConfigurationError if the store belongs to another service than the client. */
  change<T>(method: string, action: (opened: OpenedStore) => Promise<T>): Promise<T> {
    return this.#use(async (opened) => {
      if (this.#service && !this.#isServiceChecked) {
        assertSameService(method, await opened.store.claimService(this.#service), this.#service);
        this.#isServiceChecked = true;
      }
      return action(opened);
    });
  }

  async #use<T>(action: (opened: OpenedStore) => Promise<T>): Promise<T> {
    await this.#closing;
    const result = this.#open().then((id) => action({ store: this.#store, id }));
    this.#active.add(result);
    try {
      return await result;
    } finally {
      this.#active.delete(result);
    }
  }

  /** Ends runs, waits for what is in progress, and closes the store. A later action opens it again. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort(new DOMException("The outbox was closed.", "AbortError"));
    this.#closed = new AbortController();
    await Promise.allSettled(this.#active);
    if (!this.#opened) return;
    this.#opened = undefined;
    await this.#store.close();
  }

  #open(): Promise<string> {
    const opened = this.#opened ?? this.#store.open();
    this.#opened = opened;
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }
}
