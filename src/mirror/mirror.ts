import { accountOf } from "../client/for-add-ons.js";
import { ConfigurationError, InputValidationError, StorageError } from "../shared/errors/index.js";
import { checkConfiguration, checkMethodOptions } from "../shared/schema.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { repeat } from "../shared/time/repeat.js";
import { Copy } from "./copy/copy.js";
import type { CopyDatabase } from "./copy/database.js";
import { type MirrorListStatus, readStatus } from "./copy/status.js";
import {
  type MirrorOptions,
  mirrorOptionsSchema,
  type RunOptions,
  runOptionsSchema,
  type WatchOptions,
  watchOptionsSchema,
} from "./options.js";
import { createMirrorReport, type MirrorReport } from "./report.js";
import { runLists } from "./sync/run.js";
import { ListSync } from "./sync/sync-list.js";
import { type MirrorList, type MirrorResource, mirrorListsOf, RESOURCES } from "./tables.js";

const MINUTE_MS = 60_000;
/** Less than a day, so that a job that runs every night makes a full pass every night. */
const DEFAULT_FULL_PASS_INTERVAL_MS = 23 * 60 * MINUTE_MS;
const DEFAULT_OVERLAP_MS = 10 * MINUTE_MS;
const DEFAULT_MAX_REMOVED_SHARE = 0.2;

const DEFAULT_RESOURCES: readonly MirrorResource[] = ["items", "lots", "stockLevels"];

/**
 * Creates a mirror: a local copy of items, lots and stock levels that stays in sync. The first run reads everything,
 * later runs read what was modified since, and full passes detect removed records.
 *
 * @example
 * import { createMirror, sqliteSink } from "stocklot/mirror";
 *
 * const mirror = createMirror({ client, sink: sqliteSink({ path: "stock.db" }) });
 * const report = await mirror.run();
 * console.log(
 *   `${report.added} added, ${report.changed} changed, ${report.removed} removed`,
 * );
 * @throws ConfigurationError when an option is wrong.
 */
export function createMirror(options: MirrorOptions): Mirror {
  return new Mirror(options);
}

/** Created by {@link createMirror}. One run at a time. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #resources: readonly MirrorResource[];
  readonly #lists: readonly MirrorList[];
  #isRunning = false;

  /** @internal */
  constructor(options: MirrorOptions) {
    this.#options = checkConfiguration("createMirror", mirrorOptionsSchema(), options);
    const { warehouses = [], resources = DEFAULT_RESOURCES } = this.#options;
    this.#resources = RESOURCES.filter(
      (resource) => resources.includes(resource) || (resource === "warehouseStockLevels" && warehouses.length > 0),
    );
    this.#lists = mirrorListsOf(this.#resources, warehouses);
  }

  /**
   * Brings the copy up to date. `mirror.status()` shows how recent the copy is. If one list fails, the other lists are
   * still read, and the run then ends with the first error.
   *
   * The run opens the sink at its beginning and closes the sink at its end, so nothing stays open between two runs. The
   * run may be interrupted at any point, even by a kill. Saved records stay, and an interrupted full pass begins again.
   *
   * @throws ConfigurationError when this mirror is running already, when another version of the package wrote the copy, when
   * it belongs to another service or client ID, or when another mirror writes to it.
   * @throws UnexpectedRemovalsError when the service no longer lists a large part of a list, see
   * {@link MirrorOptions.maxRemovedShare}. The rest of the copy is up to date then.
   * @throws StorageError when the database fails.
   * @throws PaginationError when the list changes too fast to be read without gaps.
   * @throws what the client and `onProgress` throw.
   */
  async run(options: RunOptions = {}): Promise<MirrorReport> {
    const given = checkMethodOptions("mirror.run", runOptionsSchema, options);
    this.#checkAreMirrored("mirror.run", given.resources);
    if (this.#isRunning)
      throw new ConfigurationError("mirror: this mirror is running already. Wait for its run to end, or abort it.");
    this.#isRunning = true;
    try {
      given.signal?.throwIfAborted();
      return await this.#run(given);
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * Runs at intervals until the signal aborts, then resolves. It keeps the process alive.
   *
   * @example
   * import { createMirror, sqliteSink } from "stocklot/mirror";
   *
   * const mirror = createMirror({ client, sink: sqliteSink({ path: "stock.db" }) });
   * const stop = new AbortController();
   * process.once("SIGTERM", () => stop.abort());
   * await mirror.watch({
   *   everyMs: 5 * 60_000,
   *   signal: stop.signal,
   *   onError: (error) => console.error(error),
   * });
   * @throws what a run or `onReport` throws, unless `onError` is given; what `onError` throws.
   */
  async watch(options: WatchOptions): Promise<void> {
    const given = checkMethodOptions("mirror.watch", watchOptionsSchema, options);
    const { everyMs, resources, signal, onReport, onError } = given;
    this.#checkAreMirrored("mirror.watch", resources);
    let startedAt = Number.NEGATIVE_INFINITY;
    await repeat({
      run: () => {
        startedAt = monotonicNowMs();
        return this.run({ resources, signal });
      },
      nextRunAt: () => startedAt + everyMs,
      ends: [signal],
      onReport,
      onError,
    });
  }

  /**
   * Reports how complete and how recent the copy of each list is: the rows of `mirror_status`, and rows for lists that
   * were
   * not read yet. It sends no request, changes nothing, and also works during a run and while another process writes the copy.
   *
   * @throws ConfigurationError when another version of the package wrote the copy.
   * @throws StorageError when the database fails.
   */
  async status(): Promise<MirrorListStatus[]> {
    const database = await this.#options.sink.openReader();
    try {
      return await readStatus(database, this.#lists);
    } finally {
      await database?.close();
    }
  }

  #checkAreMirrored(method: string, resources: readonly MirrorResource[] = []): void {
    const issues = resources
      .filter((resource) => !this.#resources.includes(resource))
      .map((resource) => ({ path: ["resources"], message: `this mirror does not mirror ${resource}` }));
    if (issues.length > 0) throw new InputValidationError(method, issues);
  }

  async #run(options: RunOptions): Promise<MirrorReport> {
    const { client, sink, history, warehouses } = this.#options;
    const startedAtMs = monotonicNowMs();
    let database: CopyDatabase | undefined;
    try {
      database = await sink.open(options.signal);
      const copy = await Copy.begin(database, accountOf(client), { lists: this.#lists, history });
      const lists = this.#syncsOf(copy, options);
      // Without the option, lists of warehouses stay as they are, like all resources that this mirror does not read.
      const isAbandoned = ({ wID }: MirrorList) => wID !== null && warehouses?.includes(wID) === false;
      const reports = await runLists(copy, lists, copy.lists.filter(isAbandoned), options.signal);
      return createMirrorReport(reports, monotonicNowMs() - startedAtMs);
    } catch (error) {
      // A commit that had begun when the signal aborted may have been stored.
      throw options.signal?.aborted && StorageError.is(error) ? options.signal.reason : error;
    } finally {
      await database?.close();
    }
  }

  #syncsOf(copy: Copy, options: RunOptions): ListSync[] {
    const { signal, full = false, allowRemovals = false, resources = this.#resources, onProgress } = options;
    const {
      client,
      overlapMs = DEFAULT_OVERLAP_MS,
      fullPassEveryMs = DEFAULT_FULL_PASS_INTERVAL_MS,
      maxRemovedShare = DEFAULT_MAX_REMOVED_SHARE,
    } = this.#options;
    const limits = { fullPassEveryMs, overlapMs, maxRemovedShare };
    const settings = { signal, full, allowRemovals, onProgress, ...limits };
    return this.#lists
      .filter(({ resource }) => resources.includes(resource))
      .map((list) => new ListSync(list, client, copy, settings));
  }
}
