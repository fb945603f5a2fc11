import { type OutboxStore, postgresOutboxStore, sqliteOutboxStore } from "../../../src/outbox/index.js";

/** The location of a store, which another process can open too. */
export type StoreSpec = { path: string } | { connectionString: string; schema: string };

/** A store of its own at that location. */
export const storeAt = (spec: StoreSpec): OutboxStore =>
  "path" in spec ? sqliteOutboxStore(spec) : postgresOutboxStore(spec);
