import { ConfigurationError } from "../errors/index.js";
import { onAbort } from "../time/abort.js";
import { startTimer } from "../time/timer.js";
import { estimateOfRun, type MirrorEstimate, type ResourceForecast } from "./estimate.js";
import { LocalCopy } from "./local-copy.js";
import {
  checkEstimateOptions,
  checkMirrorOptions,
  checkRunOptions,
  checkWatchOptions,
  type EstimateOptions,
  type MirrorOptions,
  type RunOptions,
  type WatchOptions,
} from "./options.js";
import { type MirrorReport, reportOf } from "./report.js";
import { ListReader } from "./sync/list-reader.js";
import { ListSync } from "./sync/list-sync.js";
import { type MirrorResource, RESOURCES } from "./tables.js";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * A local copy of items, lots and stock levels that stays in sync: the first run reads everything, later runs what was
 * modified since, and full passes find what was removed.
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
  checkMirrorOptions(options);
  return new Mirror(options);
}

/** Created by {@link createMirror}. One run at a time. */
export class Mirror {
  readonly #options: MirrorOptions;
  #isRunning = false;

  /** @internal */
  constructor(options: MirrorOptions) {
    this.#options = { ...options, resources: options.resources && [...options.resources] };
  }

  /**
   * Brings the copy up to date. Afterwards the copy has every change that the service showed before the run began. Removed
   * records are found by full passes, see {@link MirrorOptions.fullPassEveryMs}.
   *
   * The sink is opened at the beginning and closed at the end, so that nothing stays open between two runs.
   *
   * A run may be interrupted at any point, also by a kill: what is in the copy stays, and the next run continues. An
   * interrupted first scan resumes where it was.
   *
   * @throws ConfigurationError when this mirror is running already, or another version wrote the copy.
   * @throws PaginationError when the list changes too fast to be read without gaps.
   * @throws what the client, the sink, `onEvent` and `onProgress` throw.
   */
  async run(options: RunOptions = {}): Promise<MirrorReport> {
    checkRunOptions(options);
    const { signal } = options;
    return await this.#exclusively(async () => {
      signal?.throwIfAborted();
      const startedAt = performance.now();
      return await this.#withCopy(options, async (syncs) => {
        const resources: MirrorReport["resources"] = {};
        // Changes of all resources come first: they also arrive if every run is interrupted in a full pass.
        for (const sync of syncs) await sync.readChanges();
        for (const sync of syncs) resources[sync.resource] = await sync.finish();
        return reportOf(resources, performance.now() - startedAt, this.#options.client.rateLimit);
      });
    });
  }

  /**
   * Runs again and again until the signal aborts, then resolves. Keeps the process alive.
   *
   * @example
   * import { createMirror, ndjsonSink } from "stocklot/mirror";
   *
   * const mirror = createMirror({ client, sink: ndjsonSink({ directory: "stock" }) });
   * const stop = new AbortController();
   * process.once("SIGTERM", () => stop.abort());
   * await mirror.watch({ everyMs: 5 * 60_000, signal: stop.signal, onError: (error) => console.error(error) });
   * @throws what a run or `onReport` throws, unless `onError` is given; what `onError` throws.
   */
  async watch(options: WatchOptions): Promise<void> {
    checkWatchOptions(options);
    const { everyMs, signal, onProgress, onReport, onError } = options;
    while (!signal?.aborted) {
      const nextRunAt = performance.now() + everyMs;
      try {
        const report = await this.run({ signal, onProgress });
        await onReport?.(report);
      } catch (error) {
        if (signal?.aborted) return;
        if (!onError) throw error;
        await onError(error);
      }
      if (!signal?.aborted) await sleep(nextRunAt - performance.now(), signal);
    }
  }

  /** What the next run is likely to take, from one request for one record per resource. Changes nothing in the copy. */
  async estimate(options: EstimateOptions = {}): Promise<MirrorEstimate> {
    checkEstimateOptions(options);
    return await this.#exclusively(async () => {
      return await this.#withCopy(options, async (syncs) => {
        const forecasts = new Map<MirrorResource, ResourceForecast>();
        for (const sync of syncs) forecasts.set(sync.resource, await sync.forecast());
        return estimateOfRun(forecasts);
      });
    });
  }

  /** Opens the sink, works on the copy, and closes the sink whatever happens. */
  async #withCopy<T>(
    options: RunOptions,
    work: (syncs: readonly ListSync<MirrorResource>[]) => Promise<T>,
    isRetry = false,
  ): Promise<T> {
    const { sink, onEvent } = this.#options;
    try {
      const copy = await LocalCopy.open(sink, onEvent);
      try {
        return await work(this.#syncsOf(copy, options));
      } catch (error) {
        // The last commit of a killed process may reach the database after this process has opened the copy.
        if (isRetry || options.signal?.aborted || !(await copy.wasOvertaken().catch(() => false))) throw error;
      }
    } finally {
      await sink.close();
    }
    return this.#withCopy(options, work, true);
  }

  #syncsOf(copy: LocalCopy, { signal, full = false, onProgress }: RunOptions): ListSync<MirrorResource>[] {
    const {
      client,
      resources = RESOURCES,
      overlapMs = MINUTE_MS,
      fullPassEveryMs = DAY_MS,
      concurrency = 2,
    } = this.#options;
    return RESOURCES.filter((resource) => resources.includes(resource)).map((resource) => {
      const reader = new ListReader(client, resource, { signal, concurrency });
      return new ListSync(resource, reader, copy, { full, fullPassEveryMs, overlapMs, onProgress });
    });
  }

  /** Two runs at once would overwrite each other. */
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

/** Resolves after a time, or when the signal aborts. */
function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const stopListening = signal === undefined ? () => {} : onAbort(signal, () => finish());
    const cancelTimer = startTimer(delayMs, () => finish());
    const finish = () => {
      cancelTimer();
      stopListening();
      resolve();
    };
  });
}
