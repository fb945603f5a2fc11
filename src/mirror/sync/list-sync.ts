import { UnexpectedRemovalsError } from "../../errors/index.js";
import type { ListForecast } from "../../paging/estimate.js";
import { monotonicNowMs } from "../../time/clock.js";
import type { MirrorList } from "../copy/lists.js";
import { awaitsFullPass, type ListState, surplusOf } from "../copy/state.js";
import type { ListReport, MirrorReading } from "../report.js";
import type { MirrorResource } from "../tables.js";
import { type FullPassResult, makeFullPass } from "./full-pass.js";
import { incrementStartOf, readIncrement } from "./increment.js";
import type { ListRun, SyncSettings } from "./list-run.js";
import { modifiedSinceSupportAfterCheck, shouldVerifyModifiedSince, sinceOf } from "./modified-since.js";
import { sizesAfterRun } from "./removals.js";

/*
 * How the copy of one list is kept equal to the list of the service.
 *
 * A list is read in two ways. A full pass reads all of it, and shows which records were removed. An increment reads what was
 * modified since the last read began. It costs little, and shows no removals.
 *
 * What is known of a list (`ListState`) is saved in the SQL transaction that writes its records. A list is
 *
 *   new         no full pass has ended, and none can be resumed;
 *   filling     the first full pass was interrupted: `pass` says where it resumes;
 *   complete    a full pass has ended: `lastPass`. It, too, may have a `pass` that was interrupted.
 *
 * Further members:
 *
 *   increments  whether they can be relied on (`support`), and the moment from which the next one reads (`since`)
 *   lacking     how many records the copy lacks by the service's count; negative if it has too many
 *   stale       records may differ in a way that neither an increment nor the counts show: an item's description in its lots,
 *               changes while the clock was set back, or what a resumed pass of a list without increments read first
 *   refused     the removals that the last full pass did not carry out; `sizes` are for the same guard (removals.ts)
 *
 * The copy differs if it is stale, or if it lacks another number of records than those that the service counts, but does not
 * list (`unlisted`: two full passes in a row lacked them). Only a full pass corrects that. The status shows it as
 * `awaitsFullPass`.
 *
 * One run takes two steps. All lists take the first before any takes the second, so that an interrupted run has all changes.
 *
 *   1. `readChanges`
 *      new, filling: a full pass, resumed if possible. The list is complete then.
 *      complete: an increment, if the list has any, and unless all of it was read just now, or is to be (`full`). What was
 *      read before an interruption may have changed, so a pass that is resumed does not count as reading all of it.
 *   2. `finish`
 *      Step 1 has read everything:          nothing more.
 *      A full pass is due, because it is time, one was interrupted, or there are no increments:          a full pass.
 *      Removals were refused, and by the count the records are still gone:          refused again.
 *      The copy differs:          a full pass, unless the last one was long and recent. Then a later run makes it.
 *
 * After a full pass, an increment must list what the pass found changed (modified-since.ts).
 *
 * Absence means removed at the end of a full pass that listed as many records as the service counts: at once, if records came
 * in the order of their numbers, otherwise if a second full pass agrees (listed-records.ts, removals.ts).
 */

/** A full pass that takes less time may run again immediately. */
const MAX_SHORT_FULL_PASS_MS = 60_000;

/** The largest share of the time that additional full passes may take. */
const MAX_REPAIR_TIME_SHARE = 0.1;

/** True if everything is to be read: it is time, a full pass was interrupted, or there are no increments. */
export const isFullPassDue = (
  state: ListState,
  { full, fullPassEveryMs }: Pick<SyncSettings, "full" | "fullPassEveryMs">,
  now: number,
): boolean =>
  full ||
  state.pass !== undefined ||
  sinceOf(state) === undefined ||
  now - (state.lastPass?.endedAt ?? 0) >= fullPassEveryMs;

/** True if an additional full pass may run now. A long one does not run again and again for a few records. */
export const mayRepairByFullPass = ({ lastPass }: Pick<ListState, "lastPass">, now: number): boolean =>
  lastPass === undefined ||
  lastPass.durationMs < MAX_SHORT_FULL_PASS_MS ||
  now - lastPass.endedAt >= lastPass.durationMs / MAX_REPAIR_TIME_SHARE;

/** The forecast of one list. */
export interface MirrorListForecast extends ListForecast {
  resource: MirrorResource;
  reading: MirrorReading;
}

/** Decides what a run does about one list, as described above. */
export class ListSync {
  /** Set if too many records would have been removed. Then none was removed. */
  refusal: UnexpectedRemovalsError | undefined;
  readonly #run: ListRun;
  /** The full pass of step 1. */
  #firstPass: FullPassResult | undefined;
  #durationMs = 0;

  constructor(run: ListRun) {
    this.#run = run;
  }

  get list(): MirrorList {
    return this.#run.list;
  }

  get readings(): readonly MirrorReading[] {
    return this.#run.readings;
  }

  /** Step 1: fills a new copy, or reads the records that were modified since the last run. */
  async readChanges(): Promise<void> {
    await this.#step(async () => {
      if (!this.#state.lastPass) this.#firstPass = await this.#fullPass();
      const since = sinceOf(this.#state);
      if (since !== undefined && !this.#readsEverything) await readIncrement(this.#run, since);
    });
  }

  /** Step 2: makes a full pass if one is needed. */
  async finish(): Promise<ListReport> {
    await this.#step(async () => {
      if (this.refusal || this.#firstPass?.isResumed === false) return;
      if (await this.#needsFullPass()) await this.#fullPass();
    });
    const { sizes: before } = this.#state;
    const sizes = sizesAfterRun(this.#state, Date.now(), this.#run.settings);
    if (sizes !== before) await this.#run.save({ sizes });
    return this.#report();
  }

  /** Estimated cost of the next run. */
  async forecast(): Promise<MirrorListForecast> {
    const state = this.#state;
    const since = isFullPassDue(state, this.#run.settings, Date.now()) ? undefined : sinceOf(state);
    const reading = !state.lastPass ? "first" : since === undefined ? "full" : "increment";
    const forecast = await this.#run.reader.forecast(
      since === undefined ? { from: state.pass?.checkpoint } : { modifiedSince: incrementStartOf(this.#run, since) },
    );
    const requests = forecast.requests + EXTRA_REQUESTS_BY_READING[reading];
    return { ...forecast, requests, reading, resource: this.list.resource };
  }

  get #state(): ListState {
    return this.#run.state;
  }

  /** True if this run has made a full pass from its beginning, or will: an increment would add nothing. */
  get #readsEverything(): boolean {
    return this.#firstPass ? !this.#firstPass.isResumed : this.#run.settings.full && this.#state.pass === undefined;
  }

  /**
   * Measures a step. If it refuses to remove records, the full pass has ended anyway: the next one is due as usual, and
   * runs in between refuse by the counts.
   */
  async #step(action: () => Promise<void>): Promise<void> {
    const startedAt = monotonicNowMs();
    try {
      await action();
    } catch (error) {
      if (!UnexpectedRemovalsError.is(error)) throw error;
      this.refusal = error;
      const { removals, records } = error;
      const { lastPass } = this.#state;
      const ended = { endedAt: Date.now(), durationMs: monotonicNowMs() - startedAt };
      await this.#run.save({
        pass: undefined,
        refused: { removals, records },
        ...(lastPass && { lastPass: { ...lastPass, ...ended } }),
      });
    }
    this.#durationMs += monotonicNowMs() - startedAt;
  }

  async #needsFullPass(): Promise<boolean> {
    const { settings, list } = this.#run;
    if (!this.#firstPass && isFullPassDue(this.#state, settings, Date.now())) return true;
    if (settings.allowRemovals && awaitsFullPass(this.#state)) return true;
    // The last run lacked records, and the increment has not shown them.
    const hasLacked = this.#surplus < 0;
    await this.#compareCounts();
    const { refused } = this.#state;
    if (refused && this.#surplus > 0) {
      this.refusal = new UnexpectedRemovalsError({ resource: list.resource, ...refused });
      return false;
    }
    if (refused) await this.#run.save({ refused: undefined });
    const since = sinceOf(this.#state);
    // Records may have been added since the increment, or before it without a date.
    if (this.#surplus < 0 && !hasLacked && since !== undefined) await readIncrement(this.#run, since);
    // Without increments, the next run makes a full pass anyway.
    const isStale = this.#state.stale === true && since !== undefined;
    return (this.#surplus !== 0 || isStale) && mayRepairByFullPass(this.#state, Date.now());
  }

  /** A full pass, after which increments are checked against it. */
  async #fullPass(): Promise<FullPassResult> {
    const { since } = this.#state.increments;
    const pass = await makeFullPass(this.#run);
    const { support } = this.#state.increments;
    const mustVerify = shouldVerifyModifiedSince(support, this.#run.settings.full);
    if (since !== undefined && pass.expectedInIncrement.length > 0 && mustVerify) {
      const seen = await readIncrement(this.#run, since);
      const listsAllChanges = pass.expectedInIncrement.every((number) => seen.has(number));
      const checked = modifiedSinceSupportAfterCheck(support, listsAllChanges);
      await this.#run.save({ increments: { ...this.#state.increments, support: checked } });
    }
    // Without increments, the difference may be changes that were not read yet.
    if (this.#state.increments.support === "honoured") await this.#compareCounts();
    return pass;
  }

  /**
   * Saves how many records the copy lacks. Changes in the meantime cannot hide a removal: what existed before an increment
   * is in the copy, and what is added later does not make the copy larger.
   */
  async #compareCounts(): Promise<void> {
    const total = await this.#run.reader.count();
    await this.#run.save({ lacking: total - this.#state.count });
  }

  get #surplus(): number {
    return surplusOf(this.#state) ?? 0;
  }

  #report(): ListReport {
    const { count, lacking, increments } = this.#state;
    const surplus = surplusOf(this.#state);
    return {
      list: this.list,
      readings: [...this.readings],
      ...this.#run.reader.stats,
      ...this.#run.counts,
      inCopy: count,
      surplus: surplus === undefined ? null : Math.max(0, surplus),
      missing: lacking === undefined ? null : Math.max(0, lacking),
      awaitsFullPass: awaitsFullPass(this.#state),
      honoursModifiedSince: increments.support === undefined ? null : increments.support === "honoured",
      durationMs: this.#durationMs,
    };
  }
}

/** Requests of a run that read no page: how many records there are, and whether `modifiedSince` is honoured. */
const EXTRA_REQUESTS_BY_READING = { first: 3, full: 1, increment: 1 } as const satisfies Record<MirrorReading, number>;
