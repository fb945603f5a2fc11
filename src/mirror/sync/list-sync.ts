import { InputValidationError, PaginationError, UnexpectedRemovalsError } from "../../errors/index.js";
import { SeenKeys } from "../../paging/seen-keys.js";
import { sleep } from "../../time/sleep.js";
import { listOf, type MirrorList } from "../copy/lists.js";
import { numberOf } from "../copy/record-checks.js";
import type { ListForecast } from "../estimate.js";
import type { LocalCopy } from "../local-copy.js";
import { kindOf, type MirrorProgress, type MirrorReading, type MirrorResourceReport } from "../report.js";
import type { ListState } from "../state.js";
import type { MirrorRecords, MirrorResource } from "../tables.js";
import { FullScan } from "./full-scan.js";
import type { ListReader, ListScan } from "./list-reader.js";
import { incrementStart, lagAfterIncrement, newestModified } from "./modified-dates.js";
import { probeModifiedSince, shouldVerify, supportAfterCheck } from "./modified-since.js";
import { isLargeShare, isUnexpected } from "./removals.js";
import {
  type CopyProgress,
  isFullPassDue,
  mayRepair,
  progressOf,
  type ScheduleOptions,
  watermarkOf,
} from "./schedule.js";

export interface SyncSettings extends ScheduleOptions {
  signal: AbortSignal | undefined;
  onProgress: ((progress: MirrorProgress) => unknown) | undefined;
  maxRemovedShare: number;
  allowRemovals: boolean;
  confirmAfterMs: number;
}

/**
 * What is known of the copy after the changes were read:
 * - `current`: it has everything that the service showed
 * - `needsFullPass`: a full pass is due, or the copy differs from the service
 * - `mayDiffer`: it may differ, and a full pass has to wait for the next run
 */
type Condition = "current" | "needsFullPass" | "mayDiffer";

/** This many changed records are enough to check increments. */
const MAX_EXPECTED = 10_000;

/** Makes the next scan start at the beginning of the list. */
const START_AGAIN = { checkpoint: undefined, scanned: undefined, scanBeganAt: undefined } satisfies Partial<ListState>;

/**
 * Brings the copy of one list up to date, in two steps: `readChanges` reads what is new, `finish` makes a full pass if one is
 * needed. A run takes the first step for all lists before it takes the second for any.
 */
export class ListSync<R extends MirrorResource> {
  readonly list: MirrorList<R>;
  /** Set if so many records would have been removed that none was. */
  refusal: UnexpectedRemovalsError | undefined;
  readonly #reader: ListReader<R>;
  readonly #copy: LocalCopy;
  readonly #settings: SyncSettings;
  /** How far the copy had come when the run began. */
  readonly #progress: CopyProgress;
  readonly #counts = { added: 0, changed: 0, removed: 0 };
  readonly readings: MirrorReading[] = [];
  #surplus: number | null = null;
  #missing: number | null = null;
  #durationMs = 0;

  constructor(list: MirrorList<R>, reader: ListReader<R>, copy: LocalCopy, settings: SyncSettings) {
    this.list = list;
    this.#reader = reader;
    this.#copy = copy;
    this.#settings = settings;
    this.#progress = progressOf(this.#state);
  }

  /** Fills a new copy, or reads what was modified since the last run. */
  async readChanges(): Promise<void> {
    await this.#step(async () => {
      if (this.#progress !== "complete") await this.#firstScan();
      // Nothing to add to a scan that read everything just now. Before an interruption, records may have been read long ago.
      if (this.#progress === "new") return;
      const watermark = watermarkOf(this.#state, this.#settings);
      if (watermark !== undefined) await this.#increment(watermark);
    });
  }

  /** Makes a full pass if one is needed. */
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
      kind: kindOf(this.readings),
      readings: this.readings,
      ...this.#reader.stats,
      ...this.#counts,
      inCopy: count,
      surplus: this.#surplus,
      missing: this.#missing,
      awaitsFullPass,
      honoursModifiedSince: modifiedSince === undefined ? null : modifiedSince === "honoured",
      durationMs: this.#durationMs,
    };
  }

  /** What the next run is likely to take. */
  async forecast(): Promise<ListForecast> {
    const state = this.#state;
    const watermark = isFullPassDue(state, this.#settings, Date.now()) ? undefined : watermarkOf(state, this.#settings);
    const reading = this.#progress !== "complete" ? "first" : watermark === undefined ? "full" : "increment";
    const forecast = await this.#reader.forecast(
      watermark === undefined ? { from: state.checkpoint } : { modifiedSince: this.#incrementStart(watermark) },
    );
    return {
      ...forecast,
      requests: forecast.requests + EXTRA_REQUESTS[reading],
      reading,
      resource: this.list.resource,
    };
  }

  get #state(): ListState {
    return this.#copy.stateOf(this.list);
  }

  /** Measures a step. If it refuses to remove records, the next run reads the list again. */
  async #step(action: () => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    try {
      await action();
    } catch (error) {
      if (!UnexpectedRemovalsError.is(error)) throw error;
      this.refusal = error;
      await this.#copy.save(this.list, { ...START_AGAIN, stale: true });
    }
    this.#durationMs += performance.now() - startedAt;
  }

  async #assess(): Promise<Condition> {
    if (this.#progress === "new") return "current";
    if (this.#progress === "complete" && isFullPassDue(this.#state, this.#settings, Date.now())) return "needsFullPass";
    if (this.#settings.allowRemovals && this.#state.awaitsFullPass) return "needsFullPass";
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
    const lacksRecords = () => this.#state.count + (this.#state.unlisted ?? 0) < (this.#state.total ?? 0);
    if (lacksRecords()) return true;
    await this.#compareCounts();
    const { watermark } = this.#state;
    // Records may have been added since the increment, or before it without a date.
    if (lacksRecords() && watermark !== undefined) await this.#increment(watermark);
    return this.#state.stale === true || lacksRecords() || (this.#surplus ?? 0) > 0;
  }

  /** Compares how many records the service and the copy have. Only if the list has increments: otherwise the difference may be changes that were not read yet. */
  async #compareCounts(): Promise<void> {
    const { modifiedSince, count, unlisted = 0 } = this.#state;
    if (modifiedSince !== "honoured") return;
    const total = await this.#reader.count();
    this.#surplus = Math.max(0, count + Math.min(unlisted, total) - total);
    this.#missing = Math.max(0, total - count);
    await this.#copy.save(this.list, { total });
  }

  /** Fills a new copy. */
  async #firstScan(): Promise<void> {
    const passStartedAt = performance.now();
    const { scan, startedAt, newest } = await this.#readAll("first");
    const decisive = await this.#removeUnseen(scan);
    await this.#endFullPass(decisive, passStartedAt, {
      newestModified: newest,
      watermark: this.#state.watermark ?? startedAt,
      modifiedSince: await this.#probe(),
    });
    await this.#compareCounts();
  }

  /** Reads everything, and removes what the service no longer has. Returns false if the copy may differ anyway. */
  async #fullPass(): Promise<boolean> {
    const previousWatermark = this.#state.watermark;
    const passStartedAt = performance.now();
    const { scan, startedAt, newest, expectedInIncrement } = await this.#readAll("full");
    const decisive = await this.#removeUnseen(scan);
    let { modifiedSince } = this.#state;
    if (modifiedSince === undefined || (modifiedSince === "ignored" && this.#settings.full)) {
      modifiedSince = await this.#probe();
    }
    const watermark = scan.isResumed ? previousWatermark : startedAt;
    const newestModified = maxOf(this.#state.newestModified, newest);
    await this.#endFullPass(decisive, passStartedAt, { watermark, modifiedSince, newestModified });
    await this.#verifyIncrement(previousWatermark, expectedInIncrement);
    await this.#compareCounts();
    // What was read before the interruption may have changed since, and no increment shows it.
    return !decisive.isResumed || watermarkOf(this.#state, this.#settings) !== undefined;
  }

  /**
   * Reads the whole list, from where an interrupted scan stopped. Each page is saved with the place where the scan resumes. A
   * full pass can resume only if records come in the order of their numbers: otherwise it starts again.
   */
  async #readAll(reading: "first" | "full"): Promise<FullReading> {
    const { checkpoint, scanned, scanBeganAt = Date.now(), watermark, stale } = this.#state;
    const source = this.#reader.scan({ from: checkpoint });
    const isResumed = checkpoint !== undefined;
    const scan = new FullScan(await this.#copy.numbers(this.list), {
      isResumed,
      scanned: isResumed ? scanned : undefined,
    });
    /** Before the page that is being written, which is read again. */
    const placeToResume = (): Partial<ListState> => {
      const found = scan.progress;
      const place = { checkpoint: source.checkpoint() ?? checkpoint, scanned: found, scanBeganAt };
      if (reading === "first") return { ...place, watermark: watermark ?? source.startedAt() };
      if (isResumed) return found ? place : START_AGAIN;
      // A pass that can be resumed will find what is stale now, and a later note that records are stale must stay.
      return found ? { ...place, stale: undefined } : { ...START_AGAIN, stale };
    };
    let written: Written;
    try {
      written = await this.#write(reading, source, (page, numbers) => {
        const place = placeToResume();
        scan.add(numbers, page.totalCount);
        return place;
      });
    } catch (error) {
      if (!isResumed || !(error instanceof InputValidationError || error instanceof PaginationError)) throw error;
      // The list cannot be resumed there any more. Records that are in the copy already do no harm.
      await this.#copy.save(this.list, START_AGAIN);
      return this.#readAll(reading);
    }
    if (reading === "full" && !scan.isConclusive) {
      await this.#copy.save(this.list, START_AGAIN);
      return this.#readAll(reading);
    }
    return { scan, startedAt: source.startedAt(), ...written };
  }

  /** Reads what was modified since the last scan began, and a little before: clocks and commits are not exact. */
  async #increment(watermark: number): Promise<SeenKeys> {
    const beganAt = Date.now();
    const { newestModified: knownNewest } = this.#state;
    const source = this.#reader.scan({ modifiedSince: this.#incrementStart(watermark) });
    const seen = new SeenKeys();
    const { newest } = await this.#write("increment", source, (_, numbers) => {
      for (const number of numbers) seen.add(number);
      return {};
    });
    const { stale, scanned, modifiedLagMs } = this.#state;
    const startedAt = source.startedAt();
    const firstDate = source.firstDate();
    const { overlapMs } = this.#settings;
    // A clock that was set back dates changes before the start of this increment.
    const wasSetBack = firstDate !== undefined && firstDate < watermark - overlapMs;
    const showsNewer = newest !== undefined && knownNewest !== undefined && newest > knownNewest;
    await this.#copy.save(this.list, {
      watermark: startedAt,
      asOf: beganAt,
      newestModified: maxOf(knownNewest, newest),
      modifiedLagMs:
        showsNewer && startedAt !== undefined
          ? lagAfterIncrement(newest, watermark, startedAt, overlapMs)
          : modifiedLagMs,
      ...(wasSetBack && { stale: true }),
      ...(stale && { stale }),
      // An interrupted pass did not see records that exist again.
      ...(scanned && { scanned: { ...scanned, unseen: scanned.unseen.filter((number) => !seen.has(number)) } }),
    });
    return seen;
  }

  #incrementStart(watermark: number): Date {
    const { modifiedLagMs = 0 } = this.#copy.stateOf(listOf("items"));
    return incrementStart(watermark, this.#state, { overlapMs: this.#settings.overlapMs, modifiedLagMs });
  }

  /**
   * Removes the records that a scan of the whole list has not seen. If records do not come in the order of their numbers, one
   * may have changed its position while the list was read, so only a second scan decides; the same if no records came at all.
   * Nothing is removed if fewer records came than the service reports.
   *
   * @returns the scan that decided.
   * @throws UnexpectedRemovalsError when too many records would be removed. None was.
   */
  async #removeUnseen(scan: FullScan): Promise<FullScan> {
    const { unlisted = 0 } = this.#state;
    const { allowRemovals, maxRemovedShare } = this.#settings;
    let decisive = scan;
    let unseen = scan.unseen();
    if (unseen.length > 0 && !(scan.isInOrder && scan.isComplete(unlisted))) {
      decisive = await this.#readAgain(scan, unseen);
      unseen = decisive.unseen();
    }
    const isCertain = decisive.isComplete(unlisted) && (decisive.isInOrder || scan.isComplete(unlisted));
    if (isCertain && unseen.length > 0) {
      const { count } = this.#state;
      if (!allowRemovals && isUnexpected(unseen.length, count, maxRemovedShare)) {
        throw new UnexpectedRemovalsError({ resource: this.list.resource, removals: unseen.length, records: count });
      }
      this.#counts.removed += await this.#copy.remove(this.list, unseen);
    }
    this.#missing = Math.max(0, decisive.total - this.#state.count);
    return decisive;
  }

  /** A second scan, for the records that the first one has not seen. */
  async #readAgain(first: FullScan, unseen: readonly number[]): Promise<FullScan> {
    const { signal, maxRemovedShare, confirmAfterMs } = this.#settings;
    if (isLargeShare(unseen.length, this.#state.count, maxRemovedShare)) {
      await sleep(first.beganAt + confirmAfterMs - performance.now(), signal);
      signal?.throwIfAborted();
    }
    const second = new FullScan(unseen);
    await this.#write("full", this.#reader.scan(), (page, numbers) => {
      second.add(numbers, page.totalCount);
      return {};
    });
    return second;
  }

  /** Checks that an increment lists all records that a full pass found changed since the watermark. */
  async #verifyIncrement(watermark: number | undefined, expected: readonly number[]): Promise<void> {
    const { modifiedSince } = this.#state;
    if (watermark === undefined || expected.length === 0 || !shouldVerify(modifiedSince, this.#settings.full)) return;
    const seen = await this.#increment(watermark);
    const listsAllChanges = expected.every((number) => seen.has(number));
    await this.#copy.save(this.list, { modifiedSince: supportAfterCheck(modifiedSince, listsAllChanges) });
  }

  /** Finds out whether the list honours `modifiedSince`. The result is saved with the end of the pass. */
  #probe() {
    const { count, watermark = Date.now() } = this.#state;
    return probeModifiedSince(this.#reader, count, watermark);
  }

  async #endFullPass(scan: FullScan, passStartedAt: number, statePatch: Partial<ListState>): Promise<void> {
    const { asOf = 0, scanBeganAt = 0, stale, shortage = 0 } = this.#state;
    await this.#copy.save(this.list, {
      ...START_AGAIN,
      // What was read before an interruption may have become stale since.
      stale: scan.isResumed ? stale : undefined,
      total: undefined,
      asOf: Math.max(asOf, scanBeganAt),
      shortage: scan.shortage,
      // Two passes in a row have shown that the service counts records which it does not list.
      unlisted: Math.min(shortage, scan.shortage),
      ...statePatch,
      lastFullPassAt: Date.now(),
      lastFullPassMs: performance.now() - passStartedAt,
    });
  }

  async #saveResult(awaitsFullPass: boolean): Promise<void> {
    const before = this.#state;
    const missing = this.#missing ?? before.missing;
    if (before.awaitsFullPass === awaitsFullPass && before.missing === missing) return;
    await this.#copy.save(this.list, { awaitsFullPass, missing });
  }

  /** Writes what a scan lists to the copy, page after page, each with what `patchOf` returns for the state. */
  async #write(reading: MirrorReading, scan: ListScan<MirrorRecords[R]>, patchOf: PatchOf): Promise<Written> {
    this.readings.push(reading);
    const expectedInIncrement: number[] = [];
    let newest: number | undefined;
    for await (const page of scan.pages) {
      const numbers = page.value.map((record) => numberOf(this.list.resource, record));
      const written = await this.#copy.write(this.list, page.value, patchOf(page, numbers));
      this.#counts.added += written.added;
      this.#counts.changed += written.changed;
      if (expectedInIncrement.length < MAX_EXPECTED) expectedInIncrement.push(...written.expectedInIncrement);
      newest = maxOf(newest, newestModified(page.value));
      const { resource, wID } = this.list;
      const progress = scan.progress();
      if (progress) {
        await this.#settings.onProgress?.({ ...progress, resource, reading, ...(wID !== undefined && { wID }) });
      }
    }
    return { expectedInIncrement, newest };
  }
}

/** What is saved with a page: part of the state, from the numbers of its records. */
type PatchOf = (page: { totalCount: number }, numbers: readonly number[]) => Partial<ListState>;

/** What was found while pages were written. */
interface Written {
  /** Numbers of records that the service must count as modified since the copy had them last; the first ones. */
  expectedInIncrement: number[];
  /** The latest `modified`, in ms. */
  newest: number | undefined;
}

interface FullReading extends Written {
  scan: FullScan;
  /** The service's clock when it began, or when it was resumed, in ms. */
  startedAt: number | undefined;
}

const maxOf = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);

/** Requests of a run that read no page: how many records there are, and whether `modifiedSince` is honoured. */
const EXTRA_REQUESTS = { first: 3, full: 1, increment: 1 } as const satisfies Record<MirrorReading, number>;
