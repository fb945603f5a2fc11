import { isRefusalOfDate } from "../../bulk/probes.js";
import type { InventoryClient } from "../../client/index.js";
import { UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { untilAborted } from "../../shared/time/wait.js";
import type { Copy } from "../copy/copy.js";
import type { ListState } from "../copy/status.js";
import type { ListReport, MirrorProgress } from "../report.js";
import type { MirrorList } from "../tables.js";
import { concludePass, type Guard, isSecondReadingDue } from "./conclude-pass.js";
import { MirrorListReader, type MirrorReading } from "./list-reader.js";

/*
 * Keeps the copy of one list equal to the list. The state of the list is its row of `mirror_status`:
 *
 *   asOf         the copy has every change that the service dated before this; null: never read completely
 *   fullPassAt   begin of the last full pass that removed all absent records: no record that was removed earlier is in the copy
 *   refused      how many removals the guard refused in the last full pass; null: none
 *   unlisted     records that the service counted and the last full pass did not list
 *   since        the service's clock when the last read began; null: unknown, so there are no increments
 *   increments   whether modifiedSince lists all changes: true, false (for good), or null: not known yet
 *   passAt       begin of the last full pass that was read to its end, whatever it proved
 *   interrupted  a full pass has begun, and has not ended
 *   changesFrom, error, failedSince: see status.ts
 *
 * A list is new (asOf is null) or complete. If a full pass is interrupted, its records stay, and the next run begins it again.
 *
 * All lists take step 1 before any list takes steps 2 and 3, so that the changes are in the copy even if a full pass is
 * interrupted. If one list fails, the others are still read, and the run then ends with the first error.
 *
 *   1. `readChanges`: an increment, if the list is complete and may have increments. It reads what was modified since
 *      `since` - overlapMs, and sets `since`. It sets `asOf` only if `increments` is true. No increment is read in two cases:
 *      a full pass was requested (`full`); or a full pass is due that must decide about `increments`. That pass needs the
 *      changes as its proof, so no increment may take them first.
 *   2. `makeFullPass`, in these cases: the list is new or has no increments; the last full pass was fullPassEveryMs ago; the
 *      service's clock was set back; `full`; `allowRemovals` after a refusal. It reads the list, and reads it again if the
 *      first reading may have missed records. It ends with one commit of what the readings prove (conclude-pass.ts). If it
 *      found changes, it decides about `increments`: an increment from the old `since` must list these changes.
 *   3. While removals are refused, each run ends with an UnexpectedRemovalsError. It does not repeat the full pass until the
 *      next one is due.
 */

/** The settings of a run. */
export interface SyncSettings extends Guard {
  signal: AbortSignal | undefined;
  onProgress: ((progress: MirrorProgress) => unknown) | undefined;
  full: boolean;
  fullPassEveryMs: number;
  overlapMs: number;
}

/** A callback of the caller has failed. This ends the run. */
export class CallbackFailure extends Error {}

/** One list in one run. */
export class ListSync {
  readonly #counts = { added: 0, changed: 0, removed: 0 };
  readonly #reader: MirrorListReader;
  #durationMs = 0;
  #beganAgain = false;
  /** Whether this run has found that the list refuses increments, or that the service's clock was set back. */
  #refusesIncrements = false;
  #isClockSetBack = false;

  constructor(
    readonly list: MirrorList,
    client: InventoryClient,
    private readonly copy: Copy,
    private readonly settings: SyncSettings,
  ) {
    this.#reader = new MirrorListReader(client, list, settings.signal);
  }

  /** Step 1. */
  readChanges(): Promise<void> {
    return this.#measure(async () => {
      const { since, increments, asOf } = this.#state;
      const isProofDue = increments === null && this.#isFullPassDue();
      if (asOf === null || since === null || increments === false || this.settings.full || isProofDue) return;
      try {
        await this.#readIncrement(since);
      } catch (error) {
        if (increments === true || !isRefusalOfDate(error)) throw error;
        this.#refusesIncrements = true;
      }
    });
  }

  /** Steps 2 and 3. */
  makeFullPassIfNeeded(): Promise<void> {
    return this.#measure(async () => {
      if (this.#isFullPassDue()) await this.#makeFullPass();
      const { refused } = this.#state;
      const { resource } = this.list;
      if (refused !== null)
        throw new UnexpectedRemovalsError({ resource, removals: refused, records: await this.copy.count(this.list) });
      if (this.#state.error !== null) await this.copy.save(this.list, { error: null, failedSince: null });
    });
  }

  /** Saves why the list was not read. */
  async fail(error: unknown): Promise<void> {
    const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
    const failedSince = this.#state.failedSince ?? Date.now();
    await this.copy.save(this.list, { error: `${name}: ${message}`, failedSince });
  }

  async report(): Promise<ListReport> {
    return {
      list: this.list,
      ...this.#reader.stats,
      ...this.#counts,
      inCopy: await this.copy.count(this.list),
      beganAgain: this.#beganAgain,
      durationMs: this.#durationMs,
    };
  }

  get #state(): ListState {
    return this.copy.stateOf(this.list);
  }

  #isFullPassDue(): boolean {
    const { asOf, since, increments, refused, passAt } = this.#state;
    const { full, allowRemovals, fullPassEveryMs } = this.settings;
    if (asOf === null || full || (allowRemovals && refused !== null)) return true;
    if (increments === false || since === null || this.#refusesIncrements || this.#isClockSetBack) return true;
    const age = passAt === null ? Infinity : Date.now() - passAt;
    // If the pass is in the future, the clock was set back.
    return age < 0 || age >= fullPassEveryMs;
  }

  async #readIncrement(since: number): Promise<MirrorReading> {
    const { overlapMs } = this.settings;
    const { reading } = await this.#read("increment", new Date(since - overlapMs));
    if (reading.since === null) return reading;
    this.#isClockSetBack ||= reading.since < since - overlapMs;
    const isCurrent = this.#state.increments === true && !this.#isClockSetBack;
    await this.copy.save(this.list, { since: reading.since, ...(isCurrent && { asOf: reading.beganAt }) });
    return reading;
  }

  async #makeFullPass(): Promise<void> {
    const before = this.#state;
    const mode = before.asOf === null ? "first" : "full";
    const passAt = Date.now();
    const records = await this.copy.count(this.list);
    this.#beganAgain = before.interrupted;
    await this.copy.save(this.list, { interrupted: true });

    const first = await this.#read(mode);
    let absent = await this.copy.numbersOutside(this.list, first.reading.numbers);
    const second = isSecondReadingDue(first.reading, absent) ? await this.#read(mode) : undefined;
    if (second) absent = absent.filter((number) => !second.reading.numbers.has(number));
    const pass = { first: first.reading, second: second?.reading, absent };
    const { saved, removed } = concludePass(pass, { ...before, records }, this.settings);
    const modified = new Set([...first.modified, ...(second?.modified ?? [])]);
    const increments = await this.#checkIncrements(before, first.reading, modified);
    await this.copy.save(this.list, { ...saved, passAt, increments, interrupted: false }, removed);
    this.#counts.removed += removed.length;
  }

  /** Returns the new value of `increments` after a full pass that found the records `modified`. */
  async #checkIncrements(
    { asOf, since, increments }: ListState,
    pass: MirrorReading,
    modified: ReadonlySet<number>,
  ): Promise<boolean | null> {
    if (increments === false) return false;
    const from = new Date((since ?? 0) - this.settings.overlapMs);
    // The date is tried once more, because the refusal may have been temporary.
    if (this.#refusesIncrements) return (await this.#reader.refuses(from)) ? false : null;
    if (increments === null && pass.numbers.size > 0 && (await this.#reader.ignoresModifiedSince())) return false;
    if (asOf === null || since === null || modified.size === 0 || this.#isClockSetBack) return increments;
    const { reading } = await this.#read("increment", from);
    const missing = [...modified].filter((number) => !reading.numbers.has(number));
    if (missing.length === 0) return true;
    // A record that was removed since the pass is missing for a good reason. The number of removed records is what the
    // list had at the pass, plus what was added since, minus what it has now. If enough records were removed to explain
    // all missing ones, the increment proves nothing.
    const added = [...reading.numbers].filter((number) => !pass.numbers.has(number));
    const removedCount = pass.numbers.size + pass.unlisted + added.length - (await this.#reader.count());
    return removedCount >= missing.length ? null : false;
  }

  /** Reads the list, or the records that were modified since `modifiedSince`, and writes them to the copy. */
  async #read(
    mode: MirrorProgress["mode"],
    modifiedSince?: Date,
  ): Promise<{ reading: MirrorReading; modified: number[] }> {
    const { resource, wID } = this.list;
    const reading = this.#reader.begin();
    const modified: number[] = [];
    let received = 0;
    for await (const { records, totalCount } of this.#reader.read(reading, modifiedSince)) {
      const written = await this.copy.write(this.list, records);
      this.#counts.added += written.added;
      this.#counts.changed += written.changed;
      // A first pass proves nothing about increments.
      if (mode === "full") modified.push(...written.modified);
      received += records.length;
      const { requests } = this.#reader.stats;
      const beganAgain = this.#beganAgain && mode !== "increment";
      await this.#report({ resource, wID, mode, beganAgain, received, totalCount, requests });
    }
    return { reading, modified };
  }

  async #report(progress: MirrorProgress): Promise<void> {
    const { onProgress, signal } = this.settings;
    if (!onProgress) return;
    try {
      const done = (async () => onProgress(progress))();
      await (signal ? untilAborted(signal, done) : done);
    } catch (cause) {
      signal?.throwIfAborted();
      throw new CallbackFailure("onProgress", { cause });
    }
  }

  async #measure(step: () => Promise<void>): Promise<void> {
    const startedAtMs = monotonicNowMs();
    try {
      await step();
    } finally {
      this.#durationMs += monotonicNowMs() - startedAtMs;
    }
  }
}
