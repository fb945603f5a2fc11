import * as z from "zod";
import type { InventoryClient } from "../client/index.js";
import { checkMethodOptions } from "../shared/check.js";
import { InputValidationError } from "../shared/errors/index.js";
import { integer, lazy } from "../shared/field.js";
import {
  abortSignalSchema,
  durationMsSchema,
  functionSchema,
  inventoryClientSchema,
  objectWithMethodsSchema,
  requiredOption,
} from "../shared/option.js";
import { isObject } from "../shared/unknown.js";
import type { MirrorEvent } from "./copy/events.js";
import { historyOptionSchema, type MirrorHistoryOptions } from "./copy/history.js";
import type { MirrorProgress, MirrorReport } from "./report.js";
import type { MirrorSink } from "./sink.js";
import { type MirrorResource, RESOURCES } from "./tables.js";

/** Options of {@link createMirror}. */
export interface MirrorOptions {
  /** The client that sends the requests. The mirror does not close it. */
  client: InventoryClient;
  /** Where the copy is stored: `sqliteSink`, `postgresSink`, or your own {@link MirrorSink}. */
  sink: MirrorSink;
  /**
   * The resources to mirror, always in the order items, lots, stock levels. Lots contain the description of their item:
   * mirror items too if lots must show changes of the description soon, by an additional full pass.
   * @default ["items", "lots", "stockLevels"]
   */
  resources?: readonly MirrorResource[] | undefined;
  /**
   * IDs of the warehouses whose stock levels are also mirrored separately, as the resource `warehouseStockLevels`. The
   * other resources are not restricted to these warehouses. If you remove a warehouse from this list, its stock levels
   * are removed from the copy, also those of the last one (`[]`).
   * @default none; stock levels per warehouse that the copy has stay as they are
   */
  warehouses?: readonly number[] | undefined;
  /**
   * The largest share of a resource that a run may remove, from 0 to 1. If a run would remove more than this share, and
   * more than 50 records, it removes none of them and ends with an `UnexpectedRemovalsError`, unless `allowRemovals` is
   * set. Removals of the last seven days count, too, so that many small ones cannot drain a copy unnoticed. For stock levels
   * per warehouse, the share applies to each warehouse.
   * @default 0.2
   */
  maxRemovedShare?: number | undefined;
  /**
   * Records changes in the table `changes` for this many days; `false` ends that and removes them. The first full pass of
   * a list is not recorded. Once on, every mirror of the copy records changes.
   * @experimental
   * @default as the copy has it; off in a new copy
   */
  history?: MirrorHistoryOptions | false | undefined;
  /**
   * Called with each change of a record, one at a time, after the change is in the copy; a promise is awaited. After a
   * crash, or after an error of this function, the events of the last page are emitted again. An error ends the run.
   * With `history` it receives all recorded changes that it has not received, whichever mirror of the copy wrote them. A
   * copy has one such listener; others read `copy.changes()`. Without, it receives what this mirror writes.
   * @default none
   */
  onEvent?: ((event: MirrorEvent) => unknown) | undefined;
  /**
   * Time between two full passes, in ms. A run also does a full pass if it detects that records were removed
   * (after a pass of more than a minute only if that ended ten times as long ago), and always for a list that ignores
   * `modifiedSince`. `Infinity` for only these.
   * @default 82_800_000, 23 hours: a daily job makes a full pass every time
   */
  fullPassEveryMs?: number | undefined;
  /**
   * Overlap of an increment with the read before it, in ms by the service's clock. It allows for clocks within the service
   * that differ, and for changes that become visible later than their date. Records that have not changed are not
   * written again.
   * @default 60_000
   */
  overlapMs?: number | undefined;
}

/** Options of a run. */
export interface RunOptions {
  /**
   * Aborts the run. It rejects with the signal's reason. The copy stays as it is; a full pass that was interrupted begins again.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page that was saved; a promise is awaited. An error ends the run.
   * @default none
   */
  onProgress?: ((progress: MirrorProgress) => unknown) | undefined;
  /**
   * Reads everything, removes the records that the service has removed, and checks again which lists honour
   * `modifiedSince`.
   * @default false
   */
  full?: boolean | undefined;
  /**
   * The resources to update.
   * @default all resources of the mirror
   */
  resources?: readonly MirrorResource[] | undefined;
  /**
   * Removes all records that the service no longer lists, whatever their number, see
   * {@link MirrorOptions.maxRemovedShare}.
   * @default false
   */
  allowRemovals?: boolean | undefined;
  /**
   * Accepts a copy that another account (client ID) of the service has read, and reads everything again: this account
   * may see other records. Until then the copy counts as incomplete.
   * @default false
   */
  acceptAccount?: boolean | undefined;
}

/** Time between two runs of a watch, in ms: one for all resources, or one for each. */
export type WatchInterval = number | Partial<Record<MirrorResource, number | undefined>>;

/** Options of a watch. */
export interface WatchOptions {
  /**
   * Time from the start of a run to the start of the next, in ms: one for all resources, or one for each, such as
   * `{ lots: 60_000, stockLevels: 15 * 60_000 }`. Resources that are left out are not read. After a run that takes
   * longer, the next run starts immediately.
   */
  everyMs: WatchInterval;
  /**
   * Ends the watch, and interrupts the current run.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page that was saved; a promise is awaited. An error is handled like that of a run.
   * @default none
   */
  onProgress?: ((progress: MirrorProgress) => unknown) | undefined;
  /**
   * Called after each run; a promise is awaited. An error is handled like that of a run.
   * @default none
   */
  onReport?: ((report: MirrorReport) => unknown) | undefined;
  /**
   * Called with the error of a failed run; the watch continues. Without it, or if it throws, the watch rejects.
   * @default none
   */
  onError?: ((error: unknown) => unknown) | undefined;
}

const resourceNamesSchema = () =>
  z
    .array(z.enum(RESOURCES))
    .min(1)
    .refine((names) => new Set(names).size === names.length, "must name each resource once");

export const mirrorOptionsSchema = lazy(() =>
  z
    .strictObject({
      client: requiredOption(inventoryClientSchema()),
      sink: requiredOption(
        objectWithMethodsSchema(
          ["open", "keys", "read", "commit", "close"],
          "must have the methods open, keys, read, commit and close",
        ),
      ),
      resources: resourceNamesSchema().optional(),
      warehouses: z
        .array(integer())
        .refine((ids) => new Set(ids).size === ids.length, "must name each warehouse once")
        .optional(),
      maxRemovedShare: z.number().min(0).max(1).optional(),
      history: historyOptionSchema().optional(),
      onEvent: functionSchema().optional(),
      fullPassEveryMs: durationMsSchema().optional(),
      overlapMs: z.number().min(0).optional(),
    })
    .refine(({ resources, warehouses }) => warehouses !== undefined || !resources?.includes("warehouseStockLevels"), {
      path: ["warehouses"],
      error: "is required to mirror warehouseStockLevels",
    })
    .refine(({ history, sink }) => !history || "changes" in Object(sink), {
      path: ["history"],
      error: "the sink does not support it: it has no method changes()",
    }),
);

const runOptionsSchema = lazy(() =>
  z.strictObject({
    signal: abortSignalSchema().optional(),
    full: z.boolean().optional(),
    resources: resourceNamesSchema().optional(),
    onProgress: functionSchema().optional(),
    allowRemovals: z.boolean().optional(),
    acceptAccount: z.boolean().optional(),
  }),
);

/** One interval per resource. */
const intervalByResourceSchema = () =>
  z
    .partialRecord(z.enum(RESOURCES), durationMsSchema().optional())
    .refine((byResource) => Object.values(byResource).some((everyMs) => everyMs !== undefined), "must name a resource");

const createWatchOptionsSchema = (everyMs: z.ZodType) =>
  z.strictObject({
    everyMs: requiredOption(everyMs),
    signal: abortSignalSchema().optional(),
    onProgress: functionSchema().optional(),
    onReport: functionSchema().optional(),
    onError: functionSchema().optional(),
  });

const watchOptionsSchema = lazy(() => createWatchOptionsSchema(durationMsSchema()));

const watchByResourceOptionsSchema = lazy(() => createWatchOptionsSchema(intervalByResourceSchema()));

/** Rejects options that are wrong, with an `InputValidationError`. */
export function checkMirrorRunOptions(options: RunOptions, mirrored: readonly MirrorResource[]): void {
  checkMethodOptions("mirror.run", runOptionsSchema, options);
  checkIsMirrored("mirror.run", "resources", options.resources ?? [], mirrored);
}

export function checkWatchOptions(options: WatchOptions, mirrored: readonly MirrorResource[]): void {
  const everyMs: unknown = isObject(options) ? options.everyMs : undefined;
  checkMethodOptions("mirror.watch", isObject(everyMs) ? watchByResourceOptionsSchema : watchOptionsSchema, options);
  if (isObject(everyMs)) checkIsMirrored("mirror.watch", "everyMs", Object.keys(everyMs), mirrored);
}

function checkIsMirrored(method: string, option: string, names: readonly string[], mirrored: readonly string[]): void {
  const issues = names
    .filter((name) => !mirrored.includes(name))
    .map((name) => ({ path: [option], message: `this mirror does not mirror ${name}` }));
  if (issues.length > 0) throw new InputValidationError(method, issues);
}
