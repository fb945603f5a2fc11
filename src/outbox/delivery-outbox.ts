import type { BatchResult, DeliveryStore, NewDelivery, OutboxBatch, StoredDelivery } from "./delivery-store.js";
import { storedEntriesOf } from "./new-entries.js";
import type { OutboxOptions } from "./options.js";
import { Outbox } from "./outbox.js";
import { inBatches, type StoredEntry } from "./store.js";

/** An outbox as the command uses it: with deliveries, and with entries as they are stored. */
export class DeliveryOutbox extends Outbox {
  readonly #store: DeliveryStore;

  constructor(options: OutboxOptions & { store: DeliveryStore }) {
    super(options);
    this.#store = options.store;
  }

  /**
   * Stores changes together, or nothing. Deliveries and entries that prevent it are results, since another process may
   * have been faster: then the caller decides again. A key with another input is an error of the caller.
   *
   * @throws InputValidationError if a key was added with another input.
   */
  async commit(batch: OutboxBatch): Promise<BatchResult> {
    const result = await this.access.change("import", () => this.#store.commit(batch));
    // Without entries, something else has prevented it, or there was nothing to add.
    if (result.entries.length === 0) return result;
    return { ...result, entries: storedEntriesOf("import", batch.add, result.entries) };
  }

  /** Deliveries, see {@link DeliveryStore.deliveries}. With a client, the store must belong to its service. */
  deliveries(filter?: Partial<NewDelivery>): Promise<StoredDelivery[]> {
    return this.access.change("import", () => this.#store.deliveries(filter));
  }

  /** The entry with this key. */
  stored(key: string): Promise<StoredEntry | undefined> {
    return this.access.read(() => this.#store.get(key));
  }

  /** The entries that a filter lets pass; of a delivery with pruned ones. */
  storedEntries(filter: Omit<Parameters<DeliveryStore["list"]>[0], "after" | "limit">): AsyncGenerator<StoredEntry> {
    return inBatches((page) => this.access.read(() => this.#store.list({ ...filter, ...page })));
  }
}
