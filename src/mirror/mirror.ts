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
import { ReadStats, ResourceReader } from "./sync/resource-reader.js";
import { ResourceSync } from "./sync/resource-sync.js";
import { type MirrorResource, RESOURCES } from "./tables.js";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * A local copy of items, lots and stock levels that is kept right: the first run reads everything, later ones what was
 * modified since, and full passes find what is gone.
 *
 * @example
 * const mirror = createMirror({ client, sink: sqliteSink({ path: "stock.db" }) });
 * const report = await mirror.run();
 * console.log(`${report.added} added, ${report.changed} changed, ${report.removed} removed`);
 * @throws ConfigurationError when an option is wrong.
 */
export function createMirror(options: MirrorOptions): Mirror {
  checkMirrorOptions(options);
  return new Mirror(options);
}

/** Made by {@link createMirror}. One run at a time. */
export class Mirror {
  readonly #options: MirrorOptions;
  #isRunning = false;

  /** @internal */
  constructor(options: MirrorOptions) {
    this.#options = { ...options, resources: options.resources && [...options.resources] };
  }

  /**
   * Brings the copy up to date. After it, the copy has every change that the service showed before the run began; what is
   * gone is found by full passes, see {@link MirrorOptions.fullPassEveryMs}.
   *
   * The sink is opened at the beginning and closed at the end, so that nothing stays open between two runs.
   *
   * It may be interrupted at any point, killed too: what is in the copy stays, and the next run goes on. The first reading
   * goes on where it was.
   *
   * @throws ConfigurationError when this mirror is at work already, or the copy was written by another version.
   * @throws PaginationError when the list changes too fast to be read without gaps.
   * @throws what the client throws, the sink, and `onEvent`.
   */
  async run(options: RunOptions = {}): Promise<MirrorReport> {
    checkRunOptions(options);
    const { signal, onProgress, full = false } = options;
    return await this.#exclusively(async () => {
      signal?.throwIfAborted();
      const begunAt = performance.now();
      return await this.#onCopy({ signal, onProgress, full }, async (updates) => {
        const resources: MirrorReport["resources"] = {};
        // What is new comes first, so that it has come also where runs are cut short, again and again, in a full pass.
        for (const [, update] of updates) await update.catchUp();
        for (const [resource, update] of updates) resources[resource] = await update.complete();
        return reportOf(resources, performance.now() - begunAt, this.#options.client.rateLimit);
      });
    });
  }

  /**
   * Runs again and again until the signal aborts, then resolves. Keeps the process alive.
   *
   * @throws what a run throws, unless `onError` is given.
   */
  async watch(options: WatchOptions): Promise<void> {
    checkWatchOptions(options);
    const { everyMs, signal, onProgress, onReport, onError } = options;
    while (!signal?.aborted) {
      const dueAt = performance.now() + everyMs;
      try {
        const report = await this.run({ signal, onProgress });
        await onReport?.(report);
      } catch (error) {
        if (signal?.aborted) return;
        if (!onError) throw error;
        await onError(error);
      }
      if (!signal?.aborted) await sleep(dueAt - performance.now(), signal);
    }
  }

  /** What the next run will take, from one small request a resource: made before it, to plan it. Changes nothing in the copy. */
  async estimate(options: EstimateOptions = {}): Promise<MirrorEstimate> {
    checkEstimateOptions(options);
    const { signal, full = false } = options;
    return await this.#exclusively(async () => {
      return await this.#onCopy({ signal, full, onProgress: undefined }, async (updates) => {
        const forecasts = new Map<MirrorResource, ResourceForecast>();
        for (const [resource, update] of updates) forecasts.set(resource, await update.forecast());
        return estimateOfRun(forecasts);
      });
    });
  }

  /** Works on the copy as it was saved last. The sink is closed afterwards, whatever has happened. */
  async #onCopy<T>(
    options: RunOptions & { full: boolean },
    work: (updates: readonly (readonly [MirrorResource, ResourceSync<MirrorResource>])[]) => Promise<T>,
    isAgain = false,
  ): Promise<T> {
    const { signal, full, onProgress } = options;
    const {
      client,
      sink,
      onEvent,
      resources = RESOURCES,
      overlapMs = MINUTE_MS,
      fullPassEveryMs = DAY_MS,
      concurrency = 2,
    } = this.#options;
    try {
      const copy = await LocalCopy.open(sink, onEvent);
      const updates = RESOURCES.filter((name) => resources.includes(name)).map((resource) => {
        const stats = new ReadStats();
        const list = new ResourceReader(client, resource, { signal, concurrency }, stats);
        return [
          resource,
          new ResourceSync(resource, list, copy, stats, { full, fullPassEveryMs, overlapMs, onProgress }),
        ] as const;
      });
      try {
        return await work(updates);
      } catch (error) {
        // What a process that was killed wrote last may reach the database after the next has opened the copy.
        if (isAgain || signal?.aborted || !(await copy.wasOvertaken().catch(() => false))) throw error;
      }
    } finally {
      await sink.close();
    }
    return this.#onCopy(options, work, true);
  }

  /** Two at once would write over each other. */
  async #exclusively<T>(action: () => Promise<T>): Promise<T> {
    if (this.#isRunning) throw new ConfigurationError("mirror: this mirror is at work already");
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
    const ended = signal === undefined ? () => {} : onAbort(signal, () => finish());
    const stop = startTimer(delayMs, () => finish());
    const finish = () => {
      stop();
      ended();
      resolve();
    };
  });
}
