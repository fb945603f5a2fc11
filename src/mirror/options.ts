import * as z from "zod";
import type { InventoryClient } from "../client.js";
import { callback, durationMs, having, signal } from "../core/request-options.js";
import { integer, lazy } from "../schemas/field.js";
import { checkConfiguration, checkMethodOptions } from "./check-options.js";
import type { MirrorEvent } from "./events.js";
import type { MirrorProgress, MirrorReport } from "./report.js";
import type { MirrorSink } from "./sink.js";
import { type MirrorResource, RESOURCES } from "./tables.js";

/** Options of {@link createMirror}. */
export interface MirrorOptions {
  /** The client that reads. It stays the caller's: the mirror does not close it. */
  client: InventoryClient;
  /** Where the copy is kept: `sqliteSink`, `postgresSink`, `ndjsonSink`, or the caller's own. */
  sink: MirrorSink;
  /**
   * What is mirrored: items are read first, then lots, then stock levels. Lots show the description of their item; if that is to be followed at once,
   * mirror items too.
   * @default ["items", "lots", "stockLevels"]
   */
  resources?: readonly MirrorResource[] | undefined;
  /**
   * Told what happened to each record, after the copy has it, one after the other; a promise is waited for. After a crash
   * the last few may be told again, none is left out. An error that it throws ends the run, and what it was told then is
   * told again by the next.
   * @default none
   */
  onEvent?: ((event: MirrorEvent) => unknown) | undefined;
  /**
   * How long the copy goes without a full pass, in ms. A run makes one also when it notices that records are gone, and each
   * time for a list that ignores `modifiedSince`. `Infinity` for none but those.
   * @default 86_400_000, a day
   */
  fullPassEveryMs?: number | undefined;
  /**
   * How far an increment reaches back before the beginning of the reading before it, in ms of the service's clock: for
   * clocks within the service that differ, and changes that show later than they are expectedInIncrement. Records that come again are
   * compared and left alone.
   * @default 60_000
   */
  overlapMs?: number | undefined;
  /**
   * Pages read side by side.
   * @default 2
   */
  concurrency?: number | undefined;
}

/** Options of a run. */
export interface RunOptions {
  /**
   * Ends the run, which then rejects with the signal's reason. What is in the copy stays, and the next run goes on.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page that was saved; a promise is waited for. An error ends the run.
   * @default none
   */
  onProgress?: ((progress: MirrorProgress) => unknown) | undefined;
  /**
   * Reads everything, finds what the service no longer has, and finds out anew which lists honour `modifiedSince`.
   * @default false
   */
  full?: boolean | undefined;
}

/** Options of an estimate. */
export type EstimateOptions = Pick<RunOptions, "signal" | "full">;

/** Options of a watch. */
export interface WatchOptions {
  /** From the beginning of a run to that of the next, in ms. A run that takes longer is followed by the next at once. */
  everyMs: number;
  /**
   * Ends the watch; the run that is under way is interrupted.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page that was saved; a promise is waited for.
   * @default none
   */
  onProgress?: ((progress: MirrorProgress) => unknown) | undefined;
  /**
   * Called after each run; a promise is waited for. An error that it throws is handled like that of a run.
   * @default none
   */
  onReport?: ((report: MirrorReport) => unknown) | undefined;
  /**
   * Called when a run fails; the watch goes on. Without it, or when it throws, the watch rejects.
   * @default none
   */
  onError?: ((error: unknown) => unknown) | undefined;
}

const required = <S extends z.ZodType>(schema: S) =>
  z
    .unknown()
    .refine((value): boolean => value !== undefined, "is required")
    .pipe(schema);

const optionsSchema = lazy(() =>
  z.strictObject({
    client: required(having(["request", "paginate"], "must be an InventoryClient")),
    sink: required(having(["open", "keys", "read", "commit", "close"], "must have open, keys, read, commit and close")),
    resources: z
      .array(z.enum(RESOURCES))
      .min(1)
      .refine((names) => new Set(names).size === names.length, "must name each resource once")
      .optional(),
    onEvent: callback().optional(),
    fullPassEveryMs: durationMs().optional(),
    overlapMs: z.number().min(0).optional(),
    concurrency: integer().min(1).optional(),
  }),
);

const estimateShape = () => ({ signal: signal().optional(), full: z.boolean().optional() });

const estimateSchema = lazy(() => z.strictObject(estimateShape()));

const runSchema = lazy(() => z.strictObject({ ...estimateShape(), onProgress: callback().optional() }));

const watchSchema = lazy(() =>
  z.strictObject({
    everyMs: required(durationMs()),
    signal: signal().optional(),
    onProgress: callback().optional(),
    onReport: callback().optional(),
    onError: callback().optional(),
  }),
);

/** Throws a `ConfigurationError` that names each option that is wrong. */
export function checkMirrorOptions(options: MirrorOptions): void {
  checkConfiguration("createMirror", optionsSchema(), options);
}

/** Rejects options that are wrong, with an `InputValidationError`. */
export function checkRunOptions(options: RunOptions): void {
  checkMethodOptions("mirror.run", runSchema, options);
}

/** The same for a watch. */
export function checkWatchOptions(options: WatchOptions): void {
  checkMethodOptions("mirror.watch", watchSchema, options);
}

/** The same for an estimate. */
export function checkEstimateOptions(options: EstimateOptions): void {
  checkMethodOptions("mirror.estimate", estimateSchema, options);
}
