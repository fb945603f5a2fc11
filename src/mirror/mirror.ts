import { accountOf } from "../client/for-add-ons.js";
import { checkConfiguration } from "../shared/check.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { repeat } from "../shared/time/repeat.js";
import { AbortableSink } from "./copy/abortable-sink.js";
import { LocalCopy } from "./copy/local-copy.js";
import { parseMirrorState } from "./copy/state.js";
import { type MirrorStatus, mirrorStatusOf } from "./copy/status.js";
import {
  checkMirrorRunOptions,
  checkWatchOptions,
  type MirrorOptions,
  mirrorOptionsSchema,
  type RunOptions,
  type WatchInterval,
  type WatchOptions,
} from "./options.js";
import type { MirrorReport } from "./report.js";
import { MirrorRun } from "./run/mirror-run.js";
import { ListUpdate, type SyncSettings } from "./sync/list-update.js";
import { CONFIRMING_PASS_DELAY_MS } from "./sync/removals.js";
import { findAbandonedLists, type MirrorList, type MirrorResource, mirrorListsOf, RESOURCES } from "./tables.js";

const MINUTE_MS = 60_000;
/** Less than a day, so that a job that runs every night makes a full pass every night. */
const DEFAULT_FULL_PASS_INTERVAL_MS = 23 * 60 * MINUTE_MS;

/** The resources that are mirrored by default. */
const DEFAULT_RESOURCES: readonly MirrorResource[] = ["items", "lots", "stockLevels"];

const DEFAULT_MAX_REMOVED_SHARE = 0.2;

/**
 * Creates a mirror: a local copy of items, lots and stock levels that stays in sync. The first run reads everything,
 * later runs read what was modified since, and full passes detect removed records.
 *
 * @example
 * import { createMirror, sqliteSink } from "stocklot/mirror";
 *
 * const mirror = createMirror({ client, sink: sqliteSink({ path: "stock.db" }) });
 * const report = await mirror.run();
 * console.log(`${report.added} added, ${report.changed} changed, ${report.removed} removed`);
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
  readonly #confirmingPassDelayMs: number;
  #isRunning = false;
  /** The copy of the run in progress. */
  #copy: LocalCopy | undefined;

  /**
   * @internal
   * @param confirmingPassDelayMs Tests wait less for the confirming pass.
   */
  constructor(options: MirrorOptions, confirmingPassDelayMs = CONFIRMING_PASS_DELAY_MS) {
    checkConfiguration("createMirror", mirrorOptionsSchema(), options);
    const { warehouses = [], resources = DEFAULT_RESOURCES } = options;
    this.#options = { ...options };
    this.#resources = RESOURCES.filter(
      (resource) => resources.includes(resource) || (resource === "warehouseStockLevels" && warehouses.length > 0),
    );
    this.#lists = mirrorListsOf(this.#resources, warehouses);
    this.#confirmingPassDelayMs = confirmingPassDelayMs;
  }

  /**
   * Updates the copy. Afterwards the copy has every record that the service showed as added or changed before the run began.
   * Removed records are found by counts and full passes, see {@link MirrorOptions.fullPassEveryMs}: `awaitsFullPass` of the
   * status is true as long as some are left.
   *
   * The run opens the sink at its beginning and closes it at its end, so nothing stays open between two runs.
   *
   * A run may be interrupted at any point, also by a kill. The copy stays as it is; a full pass that was
   * interrupted begins again.
   *
   * @throws ConfigurationError when this mirror is running already, when another version of the package wrote the copy,
   * or when the copy belongs to another service, or was read by another account.
   * @throws UnexpectedRemovalsError when the service no longer lists a large part of a resource, see
   * {@link MirrorOptions.maxRemovedShare}. The rest of the copy is up to date then.
   * @throws PaginationError when the list changes too fast to be read without gaps.
   * @throws what the client, the sink, `onEvent` and `onProgress` throw.
   */
  async run(options: RunOptions = {}): Promise<MirrorReport> {
    checkMirrorRunOptions(options, this.#resources);
    return await this.#exclusively(async () => {
      options.signal?.throwIfAborted();
      const { client, warehouses, history } = this.#options;
      const run = new MirrorRun(this.#lists, client.rateLimit);
      try {
        const report = await this.#withCopy(options, (copy) => {
          const abandoned = findAbandonedLists(Object.keys(copy.state.lists), warehouses);
          const dropped = this.#listUpdates(copy, options, abandoned);
          return run.update(copy, { updated: this.#listUpdates(copy, options), dropped, history });
        });
        run.publishEnd();
        return report;
      } catch (error) {
        run.publishEnd(error);
        throw error;
      }
    });
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
   * await mirror.watch({ everyMs: 5 * 60_000, signal: stop.signal, onError: (error) => console.error(error) });
   * @throws what a run or `onReport` throws, unless `onError` is given; what `onError` throws.
   */
  async watch(options: WatchOptions): Promise<void> {
    checkWatchOptions(options, this.#resources);
    const { everyMs, signal, onProgress, onReport, onError } = options;
    const schedule = new WatchSchedule(everyMs, this.#resources);
    await repeat({
      run: () => this.run({ resources: schedule.takeDue(monotonicNowMs()), signal, onProgress }),
      nextRunAt: () => schedule.nextAt,
      ends: [signal],
      onReport,
      onError,
    });
  }

  /**
   * Reports how complete and how recent the copy is. It sends no request, and also works during a run and while another
   * process writes the copy.
   *
   * @throws ConfigurationError when another version of the package wrote the copy.
   * @throws what the sink throws.
   */
  async status(): Promise<MirrorStatus> {
    const state = this.#copy?.state ?? parseMirrorState(await this.#readState());
    return mirrorStatusOf(state, this.#lists, Date.now());
  }

  /**
   * Opens the sink, works on the copy, and closes the sink whatever happens. It works a second time if the last commit of a
   * killed process has reached the database after this process had opened the copy.
   */
  async #withCopy<T>(
    { signal, acceptAccount = false }: Pick<RunOptions, "signal" | "acceptAccount">,
    work: (copy: LocalCopy) => Promise<T>,
  ): Promise<T> {
    const { onEvent, client, sink: givenSink } = this.#options;
    for (let isRetry = false; ; isRetry = true) {
      const sink = new AbortableSink(givenSink, signal);
      try {
        const options = { lists: this.#lists, onEvent, client: { ...accountOf(client), acceptAccount } };
        const copy = await LocalCopy.open(sink, options);
        this.#copy = copy;
        try {
          return await work(copy);
        } catch (error) {
          if (isRetry || signal?.aborted || !(await copy.wasOvertaken().catch(() => false))) throw error;
        }
      } finally {
        this.#copy = undefined;
        await sink.close();
      }
    }
  }

  /** The state as it was saved last. */
  async #readState(): Promise<string | undefined> {
    const { sink } = this.#options;
    if (sink.readState) return await sink.readState();
    const state = await sink.open();
    // A run that is beginning may have opened it too, and closes it.
    if (!this.#isRunning) await sink.close();
    return state;
  }

  #listUpdates(
    copy: LocalCopy,
    { signal, full = false, allowRemovals = false, resources = this.#resources, onProgress }: RunOptions,
    lists = this.#lists.filter(({ resource }) => resources.includes(resource)),
  ): ListUpdate[] {
    const {
      client,
      overlapMs = MINUTE_MS,
      fullPassEveryMs = DEFAULT_FULL_PASS_INTERVAL_MS,
      maxRemovedShare = DEFAULT_MAX_REMOVED_SHARE,
    } = this.#options;
    const settings: SyncSettings = {
      signal,
      full,
      fullPassEveryMs,
      overlapMs,
      maxRemovedShare,
      allowRemovals,
      confirmingPassDelayMs: this.#confirmingPassDelayMs,
      onProgress,
    };
    return lists.map((list) => new ListUpdate(list, client, copy, settings));
  }

  /** Two runs at the same time would overwrite each other. */
  async #exclusively<T>(action: () => Promise<T>): Promise<T> {
    if (this.#isRunning) {
      throw new ConfigurationError("mirror: this mirror is running already. Wait for its run to end, or abort it.");
    }
    this.#isRunning = true;
    try {
      return await action();
    } finally {
      this.#isRunning = false;
    }
  }
}

/** Decides when a watch reads which resources. At first, all of them are due. */
export class WatchSchedule {
  readonly #groups: { resources: readonly MirrorResource[]; everyMs: number; nextAt: number }[];

  /** @param mirrored The resources of an interval for all. Resources that `interval` does not name are never due. */
  constructor(interval: WatchInterval, mirrored: readonly MirrorResource[]) {
    const groups: [readonly MirrorResource[], number | undefined][] =
      typeof interval === "number"
        ? [[mirrored, interval]]
        : mirrored.map((resource) => [[resource], interval[resource]]);
    this.#groups = groups.flatMap(([resources, everyMs]) =>
      everyMs === undefined ? [] : [{ resources, everyMs, nextAt: Number.NEGATIVE_INFINITY }],
    );
  }

  /** The resources that are due, or else those that are due next. They are due again one interval later. */
  takeDue(now: number): MirrorResource[] {
    // A timer may fire a fraction of a millisecond early.
    const dueAt = Math.max(now, this.nextAt);
    const due = this.#groups.filter(({ nextAt }) => nextAt <= dueAt);
    for (const group of due) group.nextAt = now + group.everyMs;
    return due.flatMap(({ resources }) => resources);
  }

  /** When a resource is due next. */
  get nextAt(): number {
    return Math.min(...this.#groups.map(({ nextAt }) => nextAt));
  }
}
