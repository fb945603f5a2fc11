import * as z from "zod";
import type { InventoryClient } from "../client/index.js";
import {
  abortSignalSchema,
  durationMsSchema,
  functionSchema,
  inventoryClientSchema,
  objectWithMethodsSchema,
} from "../shared/option.js";
import { integer, lazy } from "../shared/schema.js";
import { historyOptionSchema, type MirrorHistoryOptions } from "./copy/changes.js";
import type { PostgresSink } from "./copy/postgres.js";
import type { SqliteSink } from "./copy/sqlite.js";
import type { MirrorProgress, MirrorReport } from "./report.js";
import { type MirrorResource, RESOURCES } from "./tables.js";

/** Where a copy is stored: created by `sqliteSink` or `postgresSink`. */
export type MirrorSink = SqliteSink | PostgresSink;

/** Options of {@link createMirror}. */
export interface MirrorOptions {
  /** The client that sends the requests. The mirror does not close it. */
  client: InventoryClient;
  /** Where the copy is stored: `sqliteSink` or `postgresSink`. */
  sink: MirrorSink;
  /**
   * The resources to mirror. They are always read in the order items, lots, stock levels. A lot contains the
   * description of its item. If the description changes, the table `items` shows the new text first; a lot in the copy
   * shows it after the next full pass of the lots, or when the lot is modified.
   * @default ["items", "lots", "stockLevels"]
   * @example
   * // The shop only needs stock levels.
   * createMirror({
   *   client,
   *   sink: sqliteSink({ path: "copy.db" }),
   *   resources: ["stockLevels"],
   * });
   */
  resources?: readonly MirrorResource[] | undefined;
  /**
   * IDs of the warehouses whose stock levels are also mirrored separately, as the resource `warehouseStockLevels`. The
   * other resources are not restricted to these warehouses. If you remove a warehouse from this option, its stock
   * levels are removed from the copy. With `[]`, the stock levels of all single warehouses are removed.
   * @default none; stock levels per warehouse in an existing copy stay as they are
   * @example
   * // Stock levels of warehouses 3 and 7, in addition to the sums of all warehouses.
   * createMirror({ client, sink: sqliteSink({ path: "copy.db" }), warehouses: [3, 7] });
   */
  warehouses?: readonly number[] | undefined;
  /**
   * The largest share of a list that a run may remove, from 0 to 1. If a run would remove all records of a list, or more than
   * this share and more than 50, it removes none of them and ends with an `UnexpectedRemovalsError`, unless `allowRemovals`
   * is set.
   * @default 0.2
   * @example
   * // Half of the catalog may go at the end of a season.
   * createMirror({
   *   client,
   *   sink: sqliteSink({ path: "copy.db" }),
   *   maxRemovedShare: 0.5,
   * });
   */
  maxRemovedShare?: number | undefined;
  /**
   * Records changes in the table `changes`, and keeps them for this many days. `false` stops recording and removes all
   * changes. The first full pass of a list is not recorded. Once recording is on, every mirror of the copy records
   * changes.
   * @experimental
   * @default the setting of the copy; off in a new copy
   * @example
   * // Who changed the minimum stock last month?
   * createMirror({
   *   client,
   *   sink: sqliteSink({ path: "copy.db" }),
   *   history: { days: 90 },
   * });
   */
  history?: MirrorHistoryOptions | false | undefined;
  /**
   * Time between two full passes of a list, in ms; `Infinity` for none but the first. A list that does not honour
   * `modifiedSince` has a full pass in each run.
   * @default 82_800_000, 23 hours: a daily job makes a full pass every time
   * @example
   * // A run every ten minutes, and everything once a week.
   * createMirror({
   *   client,
   *   sink: sqliteSink({ path: "copy.db" }),
   *   fullPassEveryMs: 7 * 86_400_000,
   * });
   */
  fullPassEveryMs?: number | undefined;
  /**
   * How far before the start of the last read an increment begins, in ms by the service's clock. The overlap finds
   * changes that became visible later than their date, for example because clocks within the service differ or dates
   * are in whole seconds. Records that have not changed are not written again.
   * @default 600_000
   * @example
   * // The service shows some changes an hour late.
   * createMirror({
   *   client,
   *   sink: sqliteSink({ path: "copy.db" }),
   *   overlapMs: 7_200_000,
   * });
   */
  overlapMs?: number | undefined;
}

/** Options of a run. */
export interface RunOptions {
  /**
   * Aborts the run, which then rejects with the signal's reason. Saved records stay in the copy. An interrupted full
   * pass begins again in the next run.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page that was saved; a promise is awaited. An error ends the run.
   * @default none
   */
  onProgress?: ((progress: MirrorProgress) => unknown) | undefined;
  /**
   * Makes a full pass of each list.
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
}

/** Options of a watch. */
export interface WatchOptions extends Pick<RunOptions, "resources"> {
  /**
   * Time from the start of a run to the start of the next run, in ms. After a run that takes longer, the next run
   * starts at once.
   */
  everyMs: number;
  /**
   * Ends the watch, and interrupts the current run.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called after each run; a promise is awaited. An error of the callback is handled like an error of the run.
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
      client: inventoryClientSchema(),
      sink: objectWithMethodsSchema(["open", "openReader"], "must be created by sqliteSink or postgresSink"),
      resources: resourceNamesSchema().optional(),
      warehouses: z
        .array(integer())
        .refine((ids) => new Set(ids).size === ids.length, "must name each warehouse once")
        .optional(),
      maxRemovedShare: z.number().min(0).max(1).optional(),
      history: historyOptionSchema().optional(),
      fullPassEveryMs: durationMsSchema().optional(),
      overlapMs: z.number().min(0).optional(),
    })
    .refine(({ resources, warehouses }) => warehouses !== undefined || !resources?.includes("warehouseStockLevels"), {
      path: ["warehouses"],
      error: "is required to mirror warehouseStockLevels",
    }),
);

export const runOptionsSchema = lazy(() =>
  z.strictObject({
    signal: abortSignalSchema().optional(),
    full: z.boolean().optional(),
    resources: resourceNamesSchema().optional(),
    onProgress: functionSchema().optional(),
    allowRemovals: z.boolean().optional(),
  }),
);

export const watchOptionsSchema = lazy(() =>
  z.strictObject({
    everyMs: durationMsSchema(),
    resources: resourceNamesSchema().optional(),
    signal: abortSignalSchema().optional(),
    onReport: functionSchema().optional(),
    onError: functionSchema().optional(),
  }),
);
