import { InputValidationError, PaginationError } from "../../errors/index.js";
import type { ResourceForecast } from "../estimate.js";
import type { LocalCopy } from "../local-copy.js";
import type { MirrorProgress, MirrorReading, MirrorResourceReport } from "../report.js";
import type { ResourceState } from "../state.js";
import type { MirrorRecords, MirrorResource } from "../tables.js";
import { probeModifiedSince, shouldVerify, supportAfterCheck } from "./modified-since.js";
import type { Reading, ReadStats, ResourceReader } from "./resource-reader.js";
import { isComplete, type ScanResult, scanPages } from "./scan.js";
import { isFullPassDue, isNew, mayRepair, reachingBack, type ScheduleOptions, watermarkOf } from "./schedule.js";

export interface SyncSettings extends ScheduleOptions {
  onProgress: ((progress: MirrorProgress) => unknown) | undefined;
}

/** Brings the copy of one resource up to date. */
export class ResourceSync<R extends MirrorResource> {
  readonly #resource: R;
  readonly #reader: ResourceReader<R>;
  readonly #copy: LocalCopy;
  readonly #stats: ReadStats;
  readonly #settings: SyncSettings;
  readonly #counts = { added: 0, changed: 0, removed: 0 };
  readonly #readings: MirrorReading[] = [];
  #begins: "whole" | "in parts" | false = false;
  #surplus: number | null = null;
  #missing: number | null = null;
  #durationMs = 0;

  constructor(resource: R, list: ResourceReader<R>, copy: LocalCopy, stats: ReadStats, settings: SyncSettings) {
    this.#resource = resource;
    this.#reader = list;
    this.#copy = copy;
    this.#stats = stats;
    this.#settings = settings;
  }

  /** Fills a new copy, or reads what is new. */
  async catchUp(): Promise<void> {
    const begunAt = performance.now();
    const isResumed = this.#state.checkpoint !== undefined;
    this.#begins = isNew(this.#state) && (isResumed ? "in parts" : "whole");
    if (this.#begins) await this.#firstReading();
    const mark = watermarkOf(this.#state, this.#settings);
    // What was read before an interruption may have changed since.
    if (mark !== undefined && this.#begins !== "whole") await this.#increment(mark);
    this.#durationMs += performance.now() - begunAt;
  }

  /** Reads everything where that is due, or the copy has drifted. */
  async complete(): Promise<MirrorResourceReport> {
    const begunAt = performance.now();
    const awaitsFullPass = this.#begins !== "whole" && (await this.#passOrCount());
    const { modifiedSince, count } = this.#state;
    return {
      readings: this.#readings,
      ...this.#stats,
      ...this.#counts,
      inCopy: count,
      surplus: this.#surplus,
      missing: this.#missing,
      awaitsFullPass: awaitsFullPass || (this.#missing ?? 0) > 0,
      honoursModifiedSince: modifiedSince === undefined ? null : modifiedSince === "honoured",
      durationMs: this.#durationMs + performance.now() - begunAt,
    };
  }

  /** True if the copy may differ, and no full pass was made. */
  async #passOrCount(): Promise<boolean> {
    if (this.#begins !== "in parts" && isFullPassDue(this.#state, this.#settings, Date.now())) {
      await this.#fullPass();
      return false;
    }
    if (watermarkOf(this.#state, this.#settings) === undefined) return this.#compareCounts();
    if (!(await this.#hasDrifted())) return false;
    if (!mayRepair(this.#state, Date.now())) return true;
    await this.#fullPass();
    return false;
  }

  get #state(): ResourceState {
    return this.#copy.stateOf(this.#resource);
  }

  /** Fills a new copy. Each page is saved with the place to go on from. */
  async #firstReading(): Promise<void> {
    const { checkpoint, mark } = this.#state;
    const begunAt = performance.now();
    const reading = this.#reader.read({ from: checkpoint });
    let pass: ScanResult;
    try {
      pass = await this.#readAll("first", reading, () => ({
        mark: mark ?? reading.startedAt(),
        checkpoint: reading.checkpoint() ?? checkpoint,
      }));
    } catch (error) {
      if (checkpoint === undefined || !(error instanceof InputValidationError || error instanceof PaginationError))
        throw error;
      // The place is no longer to be found. What is in the copy already does no harm.
      await this.#copy.save(this.#resource, { checkpoint: undefined });
      return this.#firstReading();
    }
    // The first part of a reading in parts has been seen by another run.
    await this.#dropUnseen(checkpoint === undefined ? pass : undefined);
    const modifiedSince = await this.#findOut();
    // What an earlier run read may still be stale.
    const stale = checkpoint === undefined ? undefined : this.#state.stale;
    const statePatch = { mark: mark ?? reading.startedAt(), checkpoint: undefined, modifiedSince, stale };
    await this.#endFullPass(statePatch, begunAt);
    await this.#count();
  }

  /** Reads all there is, and drops what is no longer there. */
  async #fullPass(): Promise<void> {
    const { mark } = this.#state;
    const begunAt = performance.now();
    const reading = this.#reader.read();
    const pass = await this.#readAll("full", reading);
    await this.#dropUnseen(pass);
    let { modifiedSince } = this.#state;
    if (modifiedSince === undefined || (modifiedSince === "ignored" && this.#settings.full)) {
      modifiedSince = await this.#findOut();
    }
    await this.#endFullPass({ mark: reading.startedAt(), modifiedSince }, begunAt);
    await this.#verify(mark, pass.expectedInIncrement);
    await this.#count();
  }

  /**
   * Only a pass that came to its end tells what is gone. Where records do not come in the order of their keys, one may have
   * changed its place while the list was read: then it takes a second pass to believe it, and so it does where nothing came
   * at all. One that was shown fewer records than the service counts tells nothing. Without a pass the copy is only counted.
   */
  async #dropUnseen(pass: ScanResult | undefined): Promise<void> {
    let all = pass;
    let unseen = await this.#copy.keysWithout(this.#resource, (key) => pass === undefined || pass.seen.has(key));
    if (unseen.length > 0 && !(pass?.inKeyOrder && isComplete(pass))) {
      const both = await this.#readAll("full", this.#reader.read(), undefined, pass);
      unseen = unseen.filter((key) => !both.seen.has(key));
      all = both;
    }
    if (!all || isComplete(all)) this.#counts.removed += await this.#copy.remove(this.#resource, unseen);
    if (all) this.#missing = Math.max(0, all.total - this.#state.count);
  }

  /** For a reading in parts, of a list that has no increments. True if the copy may differ. */
  async #compareCounts(): Promise<boolean> {
    if ((await this.#reader.count()) === this.#state.count) return true;
    await this.#fullPass();
    return false;
  }

  /** Reads what was modified since the last reading began, and a little before: clocks and commits are not exact. */
  async #increment(mark: number): Promise<ScanResult> {
    const modifiedSince = reachingBack(mark, this.#settings);
    const reading = this.#reader.read({ modifiedSince });
    const pass = await this.#readAll("increment", reading);
    const startedAt = reading.startedAt();
    // A clock that was put back dates changes before what was asked for.
    const stale = this.#state.stale || (startedAt !== undefined && startedAt < modifiedSince.getTime());
    await this.#copy.save(this.#resource, { mark: startedAt, ...(stale && { stale }) });
    return pass;
  }

  /** What the next run will take. */
  async forecast(): Promise<ResourceForecast> {
    const state = this.#state;
    const mark = isFullPassDue(state, this.#settings, Date.now()) ? undefined : watermarkOf(state, this.#settings);
    const reading = isNew(state) ? "first" : mark === undefined ? "full" : "increment";
    const forecast = await this.#reader.forecast(
      mark === undefined ? { from: state.checkpoint } : { modifiedSince: reachingBack(mark, this.#settings) },
    );
    return { ...forecast, requests: forecast.requests + EXTRA_REQUESTS[reading], reading };
  }

  async #readAll(
    kind: MirrorReading,
    reading: Reading<MirrorRecords[R]>,
    patchState: () => Partial<ResourceState> = () => ({}),
    before?: ScanResult,
  ): Promise<ScanResult> {
    this.#readings.push(kind);
    return scanPages(
      reading.pages,
      async (records) => {
        const written = await this.#copy.write(this.#resource, records, patchState());
        this.#counts.added += written.added;
        this.#counts.changed += written.changed;
        const progress = reading.progress();
        if (progress) await this.#settings.onProgress?.({ ...progress, resource: this.#resource, reading: kind });
        return written;
      },
      before,
    );
  }

  async #endFullPass(statePatch: Partial<ResourceState>, begunAt: number): Promise<void> {
    await this.#copy.save(this.#resource, {
      stale: undefined,
      total: undefined,
      ...statePatch,
      lastFullPassAt: Date.now(),
      lastFullPassMs: performance.now() - begunAt,
    });
  }

  /** Finds out what the list makes of `modifiedSince`. Saved with the end of the pass, so that no pass is made for it again. */
  #findOut() {
    const { count, mark = Date.now() } = this.#state;
    return probeModifiedSince(this.#reader, count, mark);
  }

  /** Holds what a full pass found against what an increment tells: it must list all that changed since `mark`. */
  async #verify(mark: number | undefined, expectedInIncrement: readonly number[]): Promise<void> {
    const { modifiedSince } = this.#state;
    if (mark === undefined || expectedInIncrement.length === 0 || !shouldVerify(modifiedSince, this.#settings.full))
      return;
    const { seen } = await this.#increment(mark);
    const complete = expectedInIncrement.every((key) => seen.has(key));
    await this.#copy.save(this.#resource, { modifiedSince: supportAfterCheck(modifiedSince, complete) });
  }

  /**
   * True if the copy cannot be right though the increment was read. Either comparison is sure whatever happens meanwhile: what
   * was there before an increment is in the copy after it, and what is added after it does not make the copy larger.
   */
  async #hasDrifted(): Promise<boolean> {
    const isShort = () => this.#state.count < (this.#state.total ?? 0);
    if (isShort()) return true;
    await this.#count();
    const { mark } = this.#state;
    // Records may have been added since the increment, or before it without a date.
    if (isShort() && mark !== undefined) await this.#increment(mark);
    return this.#state.stale === true || isShort() || (this.#surplus ?? 0) > 0;
  }

  /** Asks how many records the service has. */
  async #count(): Promise<void> {
    if (this.#state.modifiedSince !== "honoured") return;
    const total = await this.#reader.count();
    this.#surplus = Math.max(0, this.#state.count - total);
    this.#missing = Math.max(0, total - this.#state.count);
    await this.#copy.save(this.#resource, { total });
  }
}

/** Requests that a run makes besides those for pages: how many records there are, and what `modifiedSince` does. */
const EXTRA_REQUESTS = { first: 3, full: 1, increment: 1 } as const satisfies Record<MirrorReading, number>;
