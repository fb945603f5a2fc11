import * as z from "zod";
import type { InventoryClient } from "../client/index.js";
import { integer, lazy } from "../shared/field.js";
import {
  abortSignalSchema,
  durationMsSchema,
  functionSchema,
  inventoryClientSchema,
  nonNegativeMsSchema,
  objectWithMethodsSchema,
  requiredOption,
} from "../shared/option.js";
import type { OutboxEntry } from "./entry.js";
import type { MarkField } from "./marks.js";
import type { OutboxProgress, OutboxReport } from "./report.js";
import { OUTBOX_STATES, type OutboxState, type OutboxStore } from "./store.js";

/** Options of `createOutbox`. */
export interface OutboxOptions {
  /**
   * The client that sends the requests. The outbox does not close it. The store then belongs to its service, see
   * `ClientOptions.serviceId`.
   * @default none: `run`, `watch` and `estimate` reject
   */
  client?: InventoryClient | undefined;
  /** Where the entries are stored: `sqliteOutboxStore`, `postgresOutboxStore`, or your own {@link OutboxStore}. */
  store: OutboxStore;
  /**
   * How long the service may still be working on a request after it was sent, in ms. Until then, a missing effect does
   * not prove that the request was not applied.
   * @default 60_000
   */
  settleMs?: number | undefined;
  /**
   * How long a process that does not respond keeps its items, in ms. Then another process takes them over.
   * @default 30_000
   */
  leaseMs?: number | undefined;
  /**
   * The field of each receipt that contains a mark: in front of the remark, or as the serial. If the response is lost,
   * the mark identifies the lot of the receipt.
   * @default none: if the response is lost, a receipt without `serial` and `rfidTag` becomes `unknown` if any lot may
   * be its own
   */
  mark?: MarkField | undefined;
}

/** Options of `outbox.add` and `outbox.addMany`. */
export interface OutboxAddOptions {
  /**
   * With `postgresOutboxStore`: a client of `pg` on which you have opened a transaction. The entries are durable when
   * your transaction commits.
   * @default a transaction of the store's
   */
  client?: unknown;
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
   * Aborts the run. It waits for the requests in flight, then rejects with the signal's reason.
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
   * Called after each run; a promise is awaited. An error is handled like that of a run.
   * @default none
   */
  onReport?: ((report: OutboxReport) => unknown) | undefined;
  /**
   * Called with the error of a failed run; the watch continues. Without it, or if it throws, the watch rejects.
   * @default none
   */
  onError?: ((error: unknown) => unknown) | undefined;
}

const STORE_METHODS = [
  "open",
  "claimService",
  "close",
  "add",
  "get",
  "list",
  "count",
  "claim",
  "renew",
  "release",
  "next",
  "update",
  "prune",
] as const satisfies readonly (keyof OutboxStore)[];

export const outboxOptionsSchema = lazy(() =>
  z.strictObject({
    client: inventoryClientSchema().optional(),
    store: requiredOption(
      objectWithMethodsSchema([...STORE_METHODS], `must have the methods ${STORE_METHODS.join(", ")}`),
    ),
    settleMs: nonNegativeMsSchema().optional(),
    leaseMs: z.number().positive().optional(),
    mark: z.enum(["remark", "serial"]).optional(),
  }),
);

const runShape = () => ({
  concurrency: integer().min(1).optional(),
  signal: abortSignalSchema().optional(),
  onResult: functionSchema().optional(),
  onProgress: functionSchema().optional(),
});

export const runOptionsSchema = lazy(() => z.strictObject(runShape()));

export const watchOptionsSchema = lazy(() =>
  z.strictObject({
    ...runShape(),
    everyMs: requiredOption(durationMsSchema()),
    onReport: functionSchema().optional(),
    onError: functionSchema().optional(),
  }),
);

export const addOptionsSchema = lazy(() => z.strictObject({ client: z.unknown().optional() }));

export const entriesOptionsSchema = lazy(() =>
  z.strictObject({ state: z.enum(OUTBOX_STATES).optional(), item: z.string().min(1).optional() }),
);

export const resolutionSchema = lazy(() => z.enum(["applied", "not-applied"]));

export const pruneOptionsSchema = lazy(() => z.strictObject({ olderThanMs: requiredOption(z.number().min(0)) }));
