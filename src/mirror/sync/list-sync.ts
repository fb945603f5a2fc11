import { InputValidationError, PaginationError } from "../../errors/index.js";
import type { ResourceForecast } from "../estimate.js";
import type { LocalCopy } from "../local-copy.js";
import type { MirrorProgress, MirrorReading, MirrorResourceReport } from "../report.js";
import type { ListState } from "../state.js";
import type { MirrorRecords, MirrorResource } from "../tables.js";
import type { ListReader, ListScan } from "./list-reader.js";
import { probeModifiedSince, shouldVerify, supportAfterCheck } from "./modified-since.js";
import { isComplete, type ScanResult, scanPages } from "./scan.js";
import {
  type CopyProgress,
  incrementStart,
  isFullPassDue,
  mayRepair,
  progressOf,
  type ScheduleOptions,
  watermarkOf,
} from "./schedule.js";

export interface SyncSettings extends ScheduleOptions {
  onProgress: ((progress: MirrorProgress) => unknown) | undefined;
}

/**
 * What is known of the copy after the changes were read:
 * - `current`: it has everything that the service showed
 * - `needsFullPass`: a full pass is due, or the copy differs from the service
 * - `mayDiffer`: it may differ, and a full pass has to wait for the next run
 */
type Condition = "current" | "needsFullPass" | "mayDiffer";

/**
 * Brings the copy of one resource up to date, in two steps: `readChanges` reads what is new, `finish` makes a full pass if one
 * is needed. A run takes the first step for all resources before it takes the second for any.
 */
export class ListSync<R extends MirrorResource> {
  readonly resource: R;
  readonly #reader: ListReader<R>;
  readonly #copy: LocalCopy;
  readonly #settings: SyncSettings;
  /** How far the copy had come when the run began. */
  readonly #progress: CopyProgress;
  readonly #counts = { added: 0, changed: 0, removed: 0 };
  readonly #readings: MirrorReading[] = [];
  #surplus: number | null = null;
  #missing: number | null = null;
  #durationMs = 0;

  constructor(resource: R, reader: ListReader<R>, copy: LocalCopy, settings: SyncSettings) {
    this.resource = resource;
    this.#reader = reader;
    this.#copy = copy;
    this.#settings = settings;
    this.#progress = progressOf(this.#state);
  }

  /** Fills a new copy, or reads what was modified since the last run. */
  async readChanges(): Promise<void> {
    await this.#timed(async () => {
      if (this.#progress !== "complete") await this.#firstScan();
      // Nothing to add to a scan that read everything just now. Before an interruption, records may have been read long ago.
      if (this.#progress === "new") return;
      const watermark = watermarkOf(this.#state, this.#settings);
      if (watermark !== undefined) await this.#increment(watermark);
    });
  }

  /** Makes a full pass if one is needed. */
  async finish(): Promise<MirrorResourceReport> {
    const condition = await this.#timed(async () => {
      const found = await this.#assess();
      if (found === "needsFullPass") await this.#fullPass();
      return found;
    });
    const { modifiedSince, count } = this.#state;
    return {
      readings: this.#readings,
      ...this.#reader.stats,
      ...this.#counts,
      inCopy: count,
      surplus: this.#surplus,
      missing: this.#missing,
      awaitsFullPass: condition === "mayDiffer" || (this.#missing ?? 0) > 0,
      honoursModifiedSince: modifiedSince === undefined ? null : modifiedSince === "honoured",
      durationMs: this.#durationMs,
    };
  }

  /** What the next run is likely to take. */
  async forecast(): Promise<ResourceForecast> {
    const state = this.#state;
    const watermark = isFullPassDue(state, this.#settings, Date.now()) ? undefined : watermarkOf(state, this.#settings);
    const reading = this.#progress !== "complete" ? "first" : watermark === undefined ? "full" : "increment";
    const forecast = await this.#reader.forecast(
      watermark === undefined
        ? { from: state.checkpoint }
        : { modifiedSince: incrementStart(watermark, this.#settings) },
    );
    return { ...forecast, requests: forecast.requests + EXTRA_REQUESTS[reading], reading };
  }

  get #state(): ListState {
    return this.#copy.stateOf(this.resource);
  }

  async #timed<T>(action: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await action();
    this.#durationMs += performance.now() - startedAt;
    return result;
  }

  async #assess(): Promise<Condition> {
    if (this.#progress === "new") return "current";
    if (this.#progress === "complete" && isFullPassDue(this.#state, this.#settings, Date.now())) return "needsFullPass";
    if (watermarkOf(this.#state, this.#settings) === undefined) {
      // An interrupted first scan has ended, and no increment can show what changed before it resumed.
      return (await this.#reader.count()) === this.#state.count ? "mayDiffer" : "needsFullPass";
    }
    if (!(await this.#differsFromService())) return "current";
    return mayRepair(this.#state, Date.now()) ? "needsFullPass" : "mayDiffer";
  }

  /**
   * True if the copy is known to differ though the increment was read. Changes in the meantime cannot mislead the comparison:
   * what existed before an increment is in the copy after it, and what is added later does not make the copy larger.
   */
  async #differsFromService(): Promise<boolean> {
    const lacksRecords = () => this.#state.count < (this.#state.total ?? 0);
    if (lacksRecords()) return true;
    await this.#compareCounts();
    const { watermark } = this.#state;
    // Records may have been added since the increment, or before it without a date.
    if (lacksRecords() && watermark !== undefined) await this.#increment(watermark);
    return this.#state.stale === true || lacksRecords() || (this.#surplus ?? 0) > 0;
  }

  /** Compares how many records the service and the copy have. Only if the list has increments: otherwise the difference may be changes that were not read yet. */
  async #compareCounts(): Promise<void> {
    if (this.#state.modifiedSince !== "honoured") return;
    const total = await this.#reader.count();
    this.#surplus = Math.max(0, this.#state.count - total);
    this.#missing = Math.max(0, total - this.#state.count);
    await this.#copy.save(this.resource, { total });
  }

  /** Fills a new copy. Each page is saved with the checkpoint behind it. */
  async #firstScan(): Promise<void> {
    const { checkpoint, watermark } = this.#state;
    const startedAt = performance.now();
    const scan = this.#reader.scan({ from: checkpoint });
    let result: ScanResult;
    try {
      result = await this.#write("first", scan, {
        statePatch: () => ({
          watermark: watermark ?? scan.startedAt(),
          checkpoint: scan.checkpoint() ?? checkpoint,
        }),
      });
    } catch (error) {
      if (checkpoint === undefined || !(error instanceof InputValidationError || error instanceof PaginationError))
        throw error;
      // The list cannot be resumed there any more. Records that are in the copy already do no harm.
      await this.#copy.save(this.resource, { checkpoint: undefined });
      return this.#firstScan();
    }
    const wasResumed = checkpoint !== undefined;
    // The records of an earlier part were seen by another run.
    await this.#removeUnseen(wasResumed ? undefined : result);
    await this.#endFullPass(startedAt, {
      watermark: watermark ?? scan.startedAt(),
      checkpoint: undefined,
      modifiedSince: await this.#probe(),
      // What an earlier run read may have become stale since.
      stale: wasResumed ? this.#state.stale : undefined,
    });
    await this.#compareCounts();
  }

  /** Reads everything, and removes what the service no longer has. */
  async #fullPass(): Promise<void> {
    const previousWatermark = this.#state.watermark;
    const startedAt = performance.now();
    const scan = this.#reader.scan();
    const result = await this.#write("full", scan);
    await this.#removeUnseen(result);
    let { modifiedSince } = this.#state;
    if (modifiedSince === undefined || (modifiedSince === "ignored" && this.#settings.full)) {
      modifiedSince = await this.#probe();
    }
    await this.#endFullPass(startedAt, { watermark: scan.startedAt(), modifiedSince });
    await this.#verifyIncrement(previousWatermark, result.expectedInIncrement);
    await this.#compareCounts();
  }

  /** Reads what was modified since the last scan began, and a little before: clocks and commits are not exact. */
  async #increment(watermark: number): Promise<ScanResult> {
    const modifiedSince = incrementStart(watermark, this.#settings);
    const scan = this.#reader.scan({ modifiedSince });
    const result = await this.#write("increment", scan);
    const startedAt = scan.startedAt();
    // A clock that was set back dates changes before `modifiedSince`.
    const stale = this.#state.stale || (startedAt !== undefined && startedAt < modifiedSince.getTime());
    await this.#copy.save(this.resource, { watermark: startedAt, ...(stale && { stale }) });
    return result;
  }

  /**
   * Removes the records that a scan of the whole list has not seen. If records do not come in the order of their keys, one
   * may have changed its position while the list was read, so only a second scan decides; the same if no records came at all.
   * Nothing is removed if fewer records came than the service reports. Without a scan the records of the copy are counted only.
   */
  async #removeUnseen(scan: ScanResult | undefined): Promise<void> {
    let seen = scan;
    let unseen = await this.#copy.unseenKeys(this.resource, (key) => scan === undefined || scan.seen.has(key));
    if (unseen.length > 0 && !(scan?.inKeyOrder && isComplete(scan))) {
      const both = await this.#write("full", this.#reader.scan(), { previous: scan });
      unseen = unseen.filter((key) => !both.seen.has(key));
      seen = both;
    }
    if (!seen || isComplete(seen)) this.#counts.removed += await this.#copy.remove(this.resource, unseen);
    if (seen) this.#missing = Math.max(0, seen.total - this.#state.count);
  }

  /** Checks that an increment lists all records that a full pass found changed since the watermark. */
  async #verifyIncrement(watermark: number | undefined, expected: readonly number[]): Promise<void> {
    const { modifiedSince } = this.#state;
    if (watermark === undefined || expected.length === 0 || !shouldVerify(modifiedSince, this.#settings.full)) return;
    const { seen } = await this.#increment(watermark);
    const listsAllChanges = expected.every((key) => seen.has(key));
    await this.#copy.save(this.resource, { modifiedSince: supportAfterCheck(modifiedSince, listsAllChanges) });
  }

  /** Finds out whether the list honours `modifiedSince`. The result is saved with the end of the pass. */
  #probe() {
    const { count, watermark = Date.now() } = this.#state;
    return probeModifiedSince(this.#reader, count, watermark);
  }

  async #endFullPass(startedAt: number, statePatch: Partial<ListState>): Promise<void> {
    await this.#copy.save(this.resource, {
      stale: undefined,
      total: undefined,
      ...statePatch,
      lastFullPassAt: Date.now(),
      lastFullPassMs: performance.now() - startedAt,
    });
  }

  /** Writes what a scan lists to the copy, page after page. */
  async #write(
    reading: MirrorReading,
    scan: ListScan<MirrorRecords[R]>,
    { statePatch = () => ({}), previous }: WriteOptions = {},
  ): Promise<ScanResult> {
    this.#readings.push(reading);
    return scanPages(
      scan.pages,
      async (records) => {
        const written = await this.#copy.write(this.resource, records, statePatch());
        this.#counts.added += written.added;
        this.#counts.changed += written.changed;
        const progress = scan.progress();
        if (progress) await this.#settings.onProgress?.({ ...progress, resource: this.resource, reading });
        return written;
      },
      previous,
    );
  }
}

interface WriteOptions {
  /** Saved with each page. */
  statePatch?: () => Partial<ListState>;
  /** A scan whose records count as seen. */
  previous?: ScanResult | undefined;
}

/** Requests of a run that read no page: how many records there are, and whether `modifiedSince` is honoured. */
const EXTRA_REQUESTS = { first: 3, full: 1, increment: 1 } as const satisfies Record<MirrorReading, number>;
