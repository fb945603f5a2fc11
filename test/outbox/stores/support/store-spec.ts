import type { OutboxStore } from "../../../../src/outbox/store.js";
import { postgresOutboxStore } from "../../../../src/outbox/stores/postgres-store.js";
import { sqliteOutboxStore } from "../../../../src/outbox/stores/sqlite-store.js";

/** The location of a store, which another process can open too. */
export type StoreSpec = { path: string } | { connectionString: string; schema: string };

/** A store of its own at that location. */
export const storeAt = (spec: StoreSpec): OutboxStore =>
  "path" in spec ? sqliteOutboxStore(spec) : postgresOutboxStore(spec);
