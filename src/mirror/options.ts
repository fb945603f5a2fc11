import * as z from "zod";
import type { InventoryClient } from "../client.js";
import { checkConfiguration, checkMethodOptions, requiredOption } from "../core/request/check-options.js";
import {
  abortSignalSchema,
  durationMsSchema,
  functionSchema,
  objectWithMethodsSchema,
} from "../core/request/options.js";
import { InputValidationError } from "../errors/index.js";
import { isObject } from "../errors/unknown-value.js";
import { integer, lazy } from "../schemas/field.js";
import type { MirrorEvent } from "./copy/events.js";
import type { MirrorProgress, MirrorReport } from "./report.js";
import type { WatchInterval } from "./run/cadence.js";
import type { MirrorSink } from "./sink.js";
import { type MirrorResource, RESOURCES } from "./tables.js";

/** Options of {@link createMirror}. */
export interface MirrorOptions {
  /** The client that sends the requests. The mirror does not close it. */
  client: InventoryClient;
  /** Where the copy is stored: `sqliteSink`, `postgresSink`, `ndjsonSink`, or your own {@link MirrorSink}. */
  sink: MirrorSink;
  /**
   * What is mirrored, always in the order items, lots, stock levels. Lots show the description of their item: mirror items too
   * if lots must follow its changes at once.
   * @default ["items", "lots", "stockLevels"]
   */
  resources?: readonly MirrorResource[] | undefined;
  /**
   * IDs of the warehouses whose stock levels are also mirrored one by one, as the resource `warehouseStockLevels`. Does not
   * restrict the other resources. The levels of a warehouse that is no longer named are removed from the copy.
   * @default none
   */
  warehouses?: readonly number[] | undefined;
  /**
   * The largest share of a resource that a run may remove, 0 to 1. If it would remove more, and more than 50 records, it
   * removes none of them and ends with an `UnexpectedRemovalsError`, unless `allowRemovals` is set. For stock levels per
   * warehouse, the share of one warehouse.
   * @default 0.2
   */
  maxRemovedShare?: number | undefined;
  /**
   * Called with each change of a record after the copy has it, one at a time; a promise is awaited. No event is lost; after
   * a crash, or after an error of this function, the events of the last page are emitted again. An error ends the run.
   * @default none
   */
  onEvent?: ((event: MirrorEvent) => unknown) | undefined;
  /**
   * Time between two full passes, in ms. A run also makes one if it notices that records were removed, and always for a list
   * that ignores `modifiedSince`. `Infinity` for no others.
   * @default 86_400_000, a day
   */
  fullPassEveryMs?: number | undefined;
  /**
   * How far an increment reaches back before the start of the last scan, in ms of the service's clock: for clocks within the
   * service that differ, and for changes that show later than their date. Records that have not changed are left alone.
   * @default 60_000
   */
  overlapMs?: number | undefined;
  /**
   * Pages read in parallel.
   * @default 2
   */
  concurrency?: number | undefined;
}

/** Options of a run. */
export interface RunOptions {
  /**
   * Ends the run, which then rejects with the signal's reason. The copy stays as it is, and the next run continues.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page that was saved; a promise is awaited. An error ends the run.
   * @default none
   */
  onProgress?: ((progress: MirrorProgress) => unknown) | undefined;
  /**
   * Reads everything, removes what the service has removed, and checks again which lists honour `modifiedSince`.
   * @default false
   */
  full?: boolean | undefined;
  /**
   * What to bring up to date.
   * @default all resources of the mirror
   */
  resources?: readonly MirrorResource[] | undefined;
  /**
   * Removes what the service no longer lists, however much it is, see {@link MirrorOptions.maxRemovedShare}.
   * @default false
   */
  allowRemovals?: boolean | undefined;
}

/** Options of an estimate. */
export type EstimateOptions = Pick<RunOptions, "signal" | "full" | "resources">;

/** Options of a watch. */
export interface WatchOptions {
  /**
   * Time from the start of a run to the start of the next, in ms: for all resources, or for each, such as
   * `{ lots: 60_000, stockLevels: 15 * 60_000 }`. Resources that are left out are not read. After a run that takes longer the
   * next starts at once.
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

const mirrorOptionsSchema = lazy(() =>
  createMirrorOptionsSchema().refine(
    ({ resources, warehouses }) => warehouses !== undefined || !resources?.includes("warehouseStockLevels"),
    {
      path: ["warehouses"],
      error: "is required to mirror warehouseStockLevels",
    },
  ),
);

const createMirrorOptionsSchema = () =>
  z.strictObject({
    client: requiredOption(objectWithMethodsSchema(["request", "paginate"], "must be an InventoryClient")),
    sink: requiredOption(
      objectWithMethodsSchema(
        ["open", "keys", "read", "commit", "close"],
        "must have open, keys, read, commit and close",
      ),
    ),
    resources: resourceNamesSchema().optional(),
    warehouses: z
      .array(integer())
      .min(1)
      .refine((ids) => new Set(ids).size === ids.length, "must name each warehouse once")
      .optional(),
    maxRemovedShare: z.number().min(0).max(1).optional(),
    onEvent: functionSchema().optional(),
    fullPassEveryMs: durationMsSchema().optional(),
    overlapMs: z.number().min(0).optional(),
    concurrency: integer().min(1).optional(),
  });

const estimateOptionsShape = () => ({
  signal: abortSignalSchema().optional(),
  full: z.boolean().optional(),
  resources: resourceNamesSchema().optional(),
});

const estimateOptionsSchema = lazy(() => z.strictObject(estimateOptionsShape()));

const runOptionsSchema = lazy(() =>
  z.strictObject({
    ...estimateOptionsShape(),
    onProgress: functionSchema().optional(),
    allowRemovals: z.boolean().optional(),
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

/** Throws a `ConfigurationError` that names each option that is wrong. */
export function checkMirrorOptions(options: MirrorOptions): void {
  checkConfiguration("createMirror", mirrorOptionsSchema(), options);
}

/** Rejects options that are wrong, with an `InputValidationError`. */
export function checkRunOptions(options: RunOptions, mirrored: readonly MirrorResource[]): void {
  checkMethodOptions("mirror.run", runOptionsSchema, options);
  checkIsMirrored("mirror.run", "resources", options.resources ?? [], mirrored);
}

/** The same for a watch. */
export function checkWatchOptions(options: WatchOptions, mirrored: readonly MirrorResource[]): void {
  const everyMs: unknown = isObject(options) ? options.everyMs : undefined;
  checkMethodOptions("mirror.watch", isObject(everyMs) ? watchByResourceOptionsSchema : watchOptionsSchema, options);
  if (isObject(everyMs)) checkIsMirrored("mirror.watch", "everyMs", Object.keys(everyMs), mirrored);
}

/** The same for an estimate. */
export function checkEstimateOptions(options: EstimateOptions, mirrored: readonly MirrorResource[]): void {
  checkMethodOptions("mirror.estimate", estimateOptionsSchema, options);
  checkIsMirrored("mirror.estimate", "resources", options.resources ?? [], mirrored);
}

function checkIsMirrored(method: string, option: string, names: readonly string[], mirrored: readonly string[]): void {
  const issues = names
    .filter((name) => !mirrored.includes(name))
    .map((name) => ({ path: [option], message: `this mirror does not mirror ${name}` }));
  if (issues.length > 0) throw new InputValidationError(method, issues);
}
