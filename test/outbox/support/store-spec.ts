import { type OutboxStore, postgresOutboxStore, sqliteOutboxStore } from "../../../src/outbox/index.js";
import type { Opened } from "../../../src/outbox/stores.js";

/** The location of a store, which another process can open too. */
export type StoreSpec = { path: string } | { connectionString: string; schema: string };

/** Creates a new store object for a location. */
export const storeAt = (spec: StoreSpec): OutboxStore =>
  "path" in spec ? sqliteOutboxStore(spec) : postgresOutboxStore(spec);

const NEVER = new AbortController().signal;

/** Opens a store, as an outbox does. */
export const openStore = (store: OutboxStore): Promise<Opened> => store.open({ signal: NEVER });
