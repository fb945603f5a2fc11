/** The door for other rooms: they import this file and `index`, and no other file of this room. */
export { entryOf, newEntry, OUTBOX_STATES, type OutboxEntry, parsed, type StoredEntry } from "./entry.js";
export { hasMark, markOf } from "./marks.js";
export type { OutboxOptions } from "./options.js";
export { MAX_TAKEOVERS, type Outbox, type SenderAccess } from "./outbox.js";
export { type Booked, cancelUnsent, SingleWrites } from "./single-write.js";
export { KeysHaveGrown, type OpenStore, type SeenKeys } from "./store.js";
export { type OutboxStore, PostgresOutboxStore, SqliteOutboxStore } from "./stores.js";
