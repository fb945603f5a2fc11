import { UnexpectedRemovalsError } from "../../errors/index.js";
import { monotonicNowMs } from "../../time/clock.js";
import type { MirrorList } from "../copy/lists.js";
import type { ListState } from "../copy/state.js";
import { type MirrorReading, type MirrorResourceReport, runKindOf } from "../report.js";
import type { MirrorListForecast } from "../run/estimate.js";
import type { MirrorResource } from "../tables.js";
import type { FullScan } from "./full-scan.js";
import { incrementStartOf, readIncrement } from "./increment.js";
import { laterTimeOf } from "./modified-dates.js";
import { modifiedSinceSupportAfterCheck, probeModifiedSince, shouldVerifyModifiedSince } from "./modified-since.js";
import { removeUnseenRecords, sizesAfterRun } from "./removals.js";
import { type CopyProgress, copyProgressOf, isFullPassDue, mayRepairByFullPass, watermarkOf } from "./schedule.js";
import type { SyncedList, SyncSettings } from "./synced-list.js";
import { RESTARTED_SCAN_STATE, readWholeList } from "./whole-list.js";

/**
 * What is known of the copy after the changes were read:
 * - `current`: it has everything that the service showed
 * - `needsFullPass`: a full pass is due, or the copy differs from the service
 * - `mayDiffer`: it may differ, and a full pass has to wait for the next run
 */
type CopyCondition = "current" | "needsFullPass" | "mayDiffer";

/**
 * Updates the copy of one list in two steps: `readChanges` reads the changes, `finish` does a full pass if one is
 * needed. A run takes the first step for all lists before it takes the second step for any list.
 */
export class ListSync<R extends MirrorResource> {
  /** Set if too many records would have been removed. Then none was removed. */
  refusal: UnexpectedRemovalsError | undefined;
  readonly #synced: SyncedList<R>;
  /** How far the copy had come when the run began. */
  readonly #progress: CopyProgress;
  #surplus: number | null = null;
  #missing: number | null = null;
  #durationMs = 0;

  constructor(synced: SyncedList<R>) {
    this.#synced = synced;
    this.#progress = copyProgressOf(this.#state);
  }

  /** Fills a new copy, or reads the records that were modified since the last run. */
  async readChanges(): Promise<void> {
    await this.#step(async () => {
      if (this.#progress !== "complete") await this.#firstScan();
      // Nothing to add to a scan that read everything just now. Before an interruption, records may have been read long ago.
      if (this.#progress === "new") return;
      const watermark = watermarkOf(this.#state, this.#settings);
      if (watermark !== undefined) await readIncrement(this.#synced, watermark);
    });
  }

  /** Does a full pass if one is needed. */
  async finish(): Promise<MirrorResourceReport> {
    let isCurrent = false;
    await this.#step(async () => {
      if (this.refusal) return;
      const condition = await this.#assess();
      isCurrent = condition === "needsFullPass" ? await this.#fullPass() : condition === "current";
    });
    const { modifiedSince, count, unlisted = 0 } = this.#state;
    const awaitsFullPass = !isCurrent || (this.#missing ?? 0) > unlisted;
    await this.#saveResult(awaitsFullPass);
    return {
      kind: runKindOf(this.readings),
      readings: [...this.readings],
      ...this.#synced.reader.stats,
      ...this.#synced.counts,
      inCopy: count,
      surplus: this.#surplus,
      missing: this.#missing,
      awaitsFullPass,
      honoursModifiedSince: modifiedSince === undefined ? null : modifiedSince === "honoured",
      durationMs: this.#durationMs,
    };
  }

  /** Estimated cost of the next run. */
  async forecast(): Promise<MirrorListForecast> {
    const state = this.#state;
    const watermark = isFullPassDue(state, this.#settings, Date.now()) ? undefined : watermarkOf(state, this.#settings);
    const reading = this.#progress !== "complete" ? "first" : watermark === undefined ? "full" : "increment";
    const forecast = await this.#synced.reader.forecast(
      watermark === undefined
        ? { from: state.checkpoint }
        : { modifiedSince: incrementStartOf(this.#synced, watermark) },
    );
    return {
      ...forecast,
      requests: forecast.requests + EXTRA_REQUESTS_BY_READING[reading],
      reading,
      resource: this.list.resource,
    };
  }

  get list(): MirrorList<R> {
    return this.#synced.list;
  }

  get readings(): readonly MirrorReading[] {
    return this.#synced.readings;
  }

  get #state(): ListState {
    return this.#synced.state;
  }

  get #settings(): SyncSettings {
    return this.#synced.settings;
  }

  /**
   * Measures a step. If it refuses to remove records, the pass has ended anyway: the next one is due as usual, and
   * runs in between refuse without reading the list, see {@link #refuseAgain}.
   */
  async #step(action: () => Promise<void>): Promise<void> {
    const startedAt = monotonicNowMs();
    try {
      await action();
    } catch (error) {
      if (!UnexpectedRemovalsError.is(error)) throw error;
      this.refusal = error;
      const { removals, records } = error;
      const pass = { lastFullPassAt: Date.now(), lastFullPassMs: monotonicNowMs() - startedAt };
      const isComplete = this.#progress === "complete";
      await this.#synced.save({ ...RESTARTED_SCAN_STATE, refused: { removals, records }, ...(isComplete && pass) });
    }
    this.#durationMs += monotonicNowMs() - startedAt;
  }

  /** The removals that an earlier run refused are still there, by the counts: that takes a person, not another full pass. */
  async #refuseAgain(): Promise<void> {
    const { refused } = this.#state;
    if (refused === undefined) return;
    await this.#compareCounts();
    if (this.#surplus === 0) return this.#synced.save({ refused: undefined });
    const { resource } = this.list;
    if ((this.#surplus ?? 0) > 0) this.refusal = new UnexpectedRemovalsError({ resource, ...refused });
  }

  async #assess(): Promise<CopyCondition> {
    if (this.#progress === "new") return "current";
    if (this.#progress === "complete" && isFullPassDue(this.#state, this.#settings, Date.now())) return "needsFullPass";
    if (this.#settings.allowRemovals && this.#state.awaitsFullPass) return "needsFullPass";
    await this.#refuseAgain();
    if (this.refusal) return "mayDiffer";
    if (watermarkOf(this.#state, this.#settings) === undefined) {
      // An interrupted first scan has ended, and no increment can show what changed before it resumed.
      return (await this.#synced.reader.count()) === this.#state.count ? "mayDiffer" : "needsFullPass";
    }
    if (!(await this.#differsFromService())) return "current";
    return mayRepairByFullPass(this.#state, Date.now()) ? "needsFullPass" : "mayDiffer";
  }

  /**
   * True if the copy is known to differ though the increment was read. Changes in the meantime cannot mislead the comparison:
   * what existed before an increment is in the copy after it, and what is added later does not make the copy larger.
   */
  async #differsFromService(): Promise<boolean> {
    const lacksRecords = () => this.#state.count + (this.#state.unlisted ?? 0) < (this.#state.total ?? 0);
    if (lacksRecords()) return true;
    await this.#compareCounts();
    const { watermark } = this.#state;
    // Records may have been added since the increment, or before it without a date.
    if (lacksRecords() && watermark !== undefined) await readIncrement(this.#synced, watermark);
    return this.#state.stale === true || lacksRecords() || (this.#surplus ?? 0) > 0;
  }

  /** Compares how many records the service and the copy have. Only if the list has increments: otherwise the difference may be changes that were not read yet. */
  async #compareCounts(): Promise<void> {
    const { modifiedSince, count, unlisted = 0 } = this.#state;
    if (modifiedSince !== "honoured") return;
    const total = await this.#synced.reader.count();
    this.#surplus = Math.max(0, count + Math.min(unlisted, total) - total);
    this.#missing = Math.max(0, total - count);
    await this.#synced.save({ total });
  }

  /** Fills a new copy. */
  async #firstScan(): Promise<void> {
    const passStartedAt = monotonicNowMs();
    const { scan, beganAt, startedAt, newest } = await readWholeList(this.#synced, "first");
    const decisive = await removeUnseenRecords(this.#synced, scan);
    this.#missing = Math.max(0, decisive.total - this.#state.count);
    await this.#endFullPass(decisive, passStartedAt, {
      asOf: beganAt,
      newestModified: newest,
      watermark: this.#state.watermark ?? startedAt,
      modifiedSince: await this.#probe(),
    });
    await this.#compareCounts();
  }

  /**
   * Reads everything, and removes the records that the service no longer has. Returns false if the copy may differ
   * nevertheless.
   */
  async #fullPass(): Promise<boolean> {
    const previousWatermark = this.#state.watermark;
    const passStartedAt = monotonicNowMs();
    const { scan, beganAt, startedAt, newest, expectedInIncrement } = await readWholeList(this.#synced, "full");
    const decisive = await removeUnseenRecords(this.#synced, scan);
    this.#missing = Math.max(0, decisive.total - this.#state.count);
    let { modifiedSince } = this.#state;
    if (modifiedSince === undefined || (modifiedSince === "ignored" && this.#settings.full)) {
      modifiedSince = await this.#probe();
    }
    const watermark = scan.isResumed ? previousWatermark : startedAt;
    const newestModified = laterTimeOf(this.#state.newestModified, newest);
    const asOf = Math.max(this.#state.asOf ?? 0, beganAt);
    await this.#endFullPass(decisive, passStartedAt, { asOf, watermark, modifiedSince, newestModified });
    await this.#verifyIncrement(previousWatermark, expectedInIncrement);
    await this.#compareCounts();
    // What was read before the interruption may have changed since, and no increment shows it.
    return !decisive.isResumed || watermarkOf(this.#state, this.#settings) !== undefined;
  }

  /** Checks that an increment lists all records that a full pass found changed since the watermark. */
  async #verifyIncrement(watermark: number | undefined, expected: readonly number[]): Promise<void> {
    const { modifiedSince } = this.#state;
    if (
      watermark === undefined ||
      expected.length === 0 ||
      !shouldVerifyModifiedSince(modifiedSince, this.#settings.full)
    )
      return;
    const seen = await readIncrement(this.#synced, watermark);
    const listsAllChanges = expected.every((number) => seen.has(number));
    await this.#synced.save({ modifiedSince: modifiedSinceSupportAfterCheck(modifiedSince, listsAllChanges) });
  }

  /** Determines whether the list honours `modifiedSince`. The result is saved with the end of the pass. */
  #probe() {
    const { count, watermark = Date.now() } = this.#state;
    return probeModifiedSince(this.#synced.reader, count, watermark);
  }

  async #endFullPass(scan: FullScan, passStartedAt: number, statePatch: Partial<ListState>): Promise<void> {
    const { stale, shortage = 0 } = this.#state;
    await this.#synced.save({
      ...RESTARTED_SCAN_STATE,
      // What was read before an interruption may have become stale since.
      stale: scan.isResumed ? stale : undefined,
      total: undefined,
      refused: undefined,
      shortage: scan.shortage,
      // Two passes in a row have shown that the service counts records which it does not list.
      unlisted: Math.min(shortage, scan.shortage),
      ...statePatch,
      lastFullPassAt: Date.now(),
      lastFullPassMs: monotonicNowMs() - passStartedAt,
    });
  }

  async #saveResult(awaitsFullPass: boolean): Promise<void> {
    const before = this.#state;
    const missing = this.#missing ?? before.missing;
    const sizes = sizesAfterRun(before, Date.now(), this.#settings);
    if (before.awaitsFullPass === awaitsFullPass && before.missing === missing && before.sizes === sizes) return;
    await this.#synced.save({ awaitsFullPass, missing, sizes });
  }
}

/** Requests of a run that read no page: how many records there are, and whether `modifiedSince` is honoured. */
const EXTRA_REQUESTS_BY_READING = { first: 3, full: 1, increment: 1 } as const satisfies Record<MirrorReading, number>;
