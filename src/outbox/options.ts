import * as z from "zod";
import type { InventoryClient } from "../client/index.js";
import {
  abortSignalSchema,
  durationMsSchema,
  functionSchema,
  inventoryClientSchema,
  objectWithMethodsSchema,
  valueThat,
} from "../shared/option.js";
import { integer, lazy } from "../shared/schema.js";
import { OUTBOX_STATES, type OutboxEntry, type OutboxState } from "./entry.js";
import type { OutboxProgress, OutboxReport } from "./report.js";
import type { OutboxStore } from "./stores.js";

/** Options of `createOutbox`. */
export interface OutboxOptions {
  /**
   * The client that sends the requests. The outbox does not close the client. The store belongs to the service of the client
   * from then on, see `ClientOptions.serviceId`.
   * @default none: `run` and `watch` reject
   * @example
   * createOutbox({ client, store: sqliteOutboxStore({ path: "outbox.db" }) });
   */
  client?: InventoryClient | undefined;
  /**
   * Where the entries are stored: `sqliteOutboxStore` or `postgresOutboxStore`.
   * @example
   * // One machine needs a file, several need PostgreSQL.
   * createOutbox({ client, store: sqliteOutboxStore({ path: "outbox.db" }) });
   */
  store: OutboxStore;
  /**
   * A request takes effect within this time after it was sent, in ms, or never. Until then, a missing effect does not prove
   * that the request was not applied. The time must be at least the client's `timeoutMs`. The store keeps the largest value
   * that any process has set, including processes that only add.
   * @default 60_000
   * @example
   * // A batch job of the service applies requests up to five minutes later.
   * createOutbox({
   *   client,
   *   store: sqliteOutboxStore({ path: "outbox.db" }),
   *   settleMs: 300_000,
   * });
   */
  settleMs?: number | undefined;
  /**
   * How long a silent sender keeps the lock, in ms, at least 10. Then another process takes over.
   * @default 30_000
   * @example
   * // After a crash, the next process may go on within five seconds.
   * createOutbox({
   *   client,
   *   store: sqliteOutboxStore({ path: "outbox.db" }),
   *   leaseMs: 5_000,
   * });
   */
  leaseMs?: number | undefined;
  /**
   * Where each receipt has its mark: in front of the remark, or as the serial. If the response is lost, the mark identifies the
   * lot of the receipt. With `false`, receipts have no mark. If the response to such a receipt is lost, the receipt
   * becomes `unknown`, unless no lot of the item can be its own.
   * @default "remark"
   * @example
   * // The remark is printed on labels; serials are not used.
   * createOutbox({
   *   client,
   *   store: sqliteOutboxStore({ path: "outbox.db" }),
   *   mark: "serial",
   * });
   */
  mark?: "remark" | "serial" | false | undefined;
}

/** Options of `outbox.add`. */
export interface OutboxAddOptions {
  /**
   * With `postgresOutboxStore`: a client of `pg` on which you have opened a transaction. The entries are durable when
   * your transaction commits. Await the call before you use the connection again: a wrong entry also undoes the statements that
   * you sent meanwhile. Before the first entry, the outbox needs a connection of its own. If all connections of the pool may be
   * in use then, call `await outbox.summary()` when the program starts.
   * @default a transaction of the store's own
   */
  client?: unknown;
}

/** Options of `outbox.addMany`. */
export interface OutboxAddManyOptions extends OutboxAddOptions {
  /**
   * Whether an entry replaces the stored entry with its key, if the stored entry is `rejected` and has another input.
   * @default false
   */
  replaceRejected?: boolean | undefined;
}

/** Options of `outbox.entries`. */
export interface OutboxEntriesOptions {
  /**
   * Only entries in this state.
   * @default all states
   */
  state?: OutboxState | undefined;
  /**
   * Only entries of the item with this SKU, without regard to case and surrounding spaces.
   * @default all items
   */
  item?: string | undefined;
}

/** Options of `outbox.run`. */
export interface OutboxRunOptions {
  /**
   * Number of items whose entries are sent in parallel. Outcomes of lost responses are looked up in addition.
   * @default 4
   */
  concurrency?: number | undefined;
  /**
   * Aborts the run. The run waits for the requests in flight, then rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called with each entry that became `applied`, `rejected` or `unknown`, after the new state was stored. An error is
   * ignored.
   * @default none
   */
  onResult?: ((entry: OutboxEntry) => unknown) | undefined;
  /**
   * Called after each entry that became `applied`, `rejected` or `unknown`. An error is ignored.
   * @default none
   */
  onProgress?: ((progress: OutboxProgress) => unknown) | undefined;
}

/** Options of `outbox.watch`. */
export interface OutboxWatchOptions extends OutboxRunOptions {
  /**
   * Time from the start of a run to the start of the next, in ms. After a run that takes longer, the next run starts
   * immediately.
   */
  everyMs: number;
  /**
   * Called after each run; a promise is awaited. An error is handled like an error of the run.
   * @default none
   */
  onReport?: ((report: OutboxReport) => unknown) | undefined;
  /**
   * Called with the error of a failed run; the watch continues. Without it, or if it throws, the watch rejects.
   * @default none
   */
  onError?: ((error: unknown) => unknown) | undefined;
}

export const DEFAULT_OUTBOX_SETTLE_MS = 60_000;
/** The shortest lease, in ms. A shorter lease could end before anything is sent. */
const MIN_LEASE_MS = 10;

/** A finite time: if `settleMs` were infinite, no outcome would ever be decided. */
const finiteMsSchema = (min: number, message: string) =>
  valueThat<number>((value) => Number.isFinite(value) && Number(value) >= min, message).optional();

export const outboxOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    client: inventoryClientSchema().optional(),
    store: objectWithMethodsSchema<OutboxStore>(
      ["open", "join"],
      "must be created by sqliteOutboxStore or postgresOutboxStore",
    ),
    settleMs: finiteMsSchema(0, "must be finite"),
    leaseMs: finiteMsSchema(MIN_LEASE_MS, `must be a finite number of ms, at least ${MIN_LEASE_MS}`),
    mark: z.literal(["remark", "serial", false], { error: 'must be "remark", "serial" or false' }).optional(),
  }),
);

const runShape = () => ({
  concurrency: integer().min(1).optional(),
  signal: abortSignalSchema().optional(),
  onResult: functionSchema().optional(),
  onProgress: functionSchema().optional(),
});

export const outboxRunOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject(runShape()));

export const outboxWatchOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...runShape(),
    everyMs: durationMsSchema(),
    onReport: functionSchema().optional(),
    onError: functionSchema().optional(),
  }),
);

export const addOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ client: z.unknown().optional() }));

export const addManyOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ client: z.unknown().optional(), replaceRejected: z.boolean().optional() }),
);

export const entriesOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ state: z.enum(OUTBOX_STATES).optional(), item: z.string().min(1).optional() }),
);

export const resolutionSchema = /* @__PURE__ */ lazy(() => z.enum(["applied", "not-applied"]));

export const pruneOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ olderThanMs: z.number().min(0) }));
