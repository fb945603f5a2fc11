import { InputValidationError } from "../../errors/index.js";
import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import { laneOfInput } from "../../outbox/new-entries.js";
import type { Outbox } from "../../outbox/outbox.js";
import { callSafely } from "../../time/callback.js";
import { monotonicNowMs, startTimer } from "../../time/clock.js";
import type { PlanReader } from "../plan-reader.js";
import type { PlanApplyOptions, PlanReport } from "./options.js";
import { describeProgress, isKnownUnapplied, type Progress, progressOf, reasonOf } from "./progress.js";

/** No write is based on older data. */
export const MAX_READING_AGE_MS = 600_000;

/** How the keys of the entries of all plans begin. */
export const KEY_PREFIXES = { items: "plan-items/", count: "plan-count/" } as const;

/** How the service is now, compared with a change of a plan. */
export type ChangeState =
  /** No matter by whom. */
  | { kind: "as-desired" }
  /** As it was at the time of the plan. */
  | { kind: "due" }
  | { kind: "stale"; reason: string };

/** A change with the state that was read. */
export interface ChangeAsRead<Change> {
  progress: Progress<Change>;
  state: ChangeState;
}

/** What reading the written changes again has shown. */
export interface ReadBack<Change, Stored> {
  /** Changes that may not have been applied after all, and why. */
  unknown: ReadonlyMap<Change, string>;
  storedDifferently: Stored[];
}

/** What depends on the kind of the plan. */
export interface PlannedChanges<Change, Named, Stored> {
  reader: PlanReader;
  /** How the keys of this plan begin. */
  keyPrefix: string;
  changes: readonly Change[];
  /** How many changes are read ahead of sending. */
  chunkSize: number;
  /** The writes of a change, in order, all of one item. */
  writesOf(change: Change): readonly NewOutboxEntry[];
  /** What a report calls it. */
  nameOf(change: Change): Named;
  /** Whether this plan replaces the entry of another plan for one of its items. */
  replaces(entry: OutboxEntry): boolean;
  /** Reads the present state of changes, some of whose writes may have been applied. */
  readStates(changes: readonly Progress<Change>[]): Promise<ChangeAsRead<Change>[]>;
  /**
   * Why a change that was due when `readStates` read it last is stale after all: others may have added their writes
   * meanwhile. Called after its own write was added. Left out if writes of others do no harm.
   */
  whyStaleSinceRead?(change: Change): Promise<string | undefined>;
  /**
   * Whether the service is as the change wants it, although it has refused a write, its outcome is uncertain, or it was
   * canceled. Left out if the service does not show that.
   */
  isAsDesired?(change: Change): Promise<boolean>;
  /** Reads again what was written, and when, in ms since the epoch. A failure must not take the report with it. */
  readBack(written: ReadonlyMap<Change, number>): Promise<ReadBack<Change, Stored>>;
}

/**
 * Applies the changes of a plan in chunks. A change is open until it has ended: until it is counted or reported.
 *
 *   read      the state of the open changes whose next write was not applied. Those that are as they were at the time
 *             of the plan are due. The others end, unless somebody sends the write at the same moment
 *   add       the next write of each due change enters the outbox
 *   run       the outbox runs, until it has sent everything or the data are too old
 *   collect   most open changes end. Open are those with a further write, and those whose write was not sent in time
 *
 * While changes are open, this is repeated: from "add" if all of them are due and the data are fresh, else from "read".
 *
 * progress.ts describes how far a change can be. The keys of the entries consist of the plan's id and the SKU, or
 * the number of the group, so that this is known after a crash, too.
 */
export class PlanApplication<Change, Named, Stored> {
  /** When each change was applied. */
  readonly #applied = new Map<Change, number>();
  readonly #reported: Record<"stale" | "rejected" | "unknown", (Named & { reason: string })[]> = {
    stale: [],
    rejected: [],
    unknown: [],
  };
  /** Changes that the service was found to be as, without an entry that was applied. */
  #foundAsDesired = 0;
  /** Requests of the outbox. */
  #requests = 0;
  readonly #startedAtMs = monotonicNowMs();
  readonly #planned: PlannedChanges<Change, Named, Stored>;
  readonly #outbox: Outbox;
  readonly #signal: AbortSignal | null | undefined;
  readonly #onProgress: PlanApplyOptions["onProgress"];
  /** Changes that `onProgress` has counted. */
  readonly #ended = new Set<Change>();

  constructor(
    planned: PlannedChanges<Change, Named, Stored>,
    outbox: Outbox,
    { signal, onProgress }: Pick<PlanApplyOptions, "signal" | "onProgress">,
  ) {
    this.#planned = planned;
    this.#outbox = outbox;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  async apply(): Promise<PlanReport<Named & { reason: string }, Stored>> {
    const { changes, chunkSize } = this.#planned;
    await this.#cancelOtherPlans();
    // An empty plan has a chunk, too: other pending entries are sent along.
    for (let start = 0; start === 0 || start < changes.length; start += chunkSize) {
      await this.#applyChunk(changes.slice(start, start + chunkSize));
    }
    const { unknown, storedDifferently } = await this.#planned.readBack(this.#applied);
    for (const [change, reason] of unknown) {
      this.#applied.delete(change);
      this.#reportAs("unknown", change, reason);
    }
    return {
      applied: this.#applied.size + this.#foundAsDesired,
      ...this.#reported,
      storedDifferently,
      requests: this.#requests + this.#planned.reader.requests,
      durationMs: monotonicNowMs() - this.#startedAtMs,
    };
  }

  /**
   * The outbox would send the entries of other plans along, without reading again what they are based on. Those for the
   * same items must not be sent after this plan, and none whose data are too old: an item may be as this plan wants it, so
   * that it has no change for it.
   */
  async #cancelOtherPlans(): Promise<void> {
    const { changes, keyPrefix } = this.#planned;
    const lanes = new Set(changes.map((change) => this.#laneOf(change)));
    const isOfPlan = (key: string) => Object.values(KEY_PREFIXES).some((prefix) => key.startsWith(prefix));
    for await (const entry of this.#outbox.entries({ state: "pending" })) {
      if (!isOfPlan(entry.key) || entry.key.startsWith(keyPrefix)) continue;
      const isReplaced = lanes.has(laneOfInput(entry.input)) && this.#planned.replaces(entry);
      if (isReplaced || Date.now() - entry.addedAt > MAX_READING_AGE_MS) await this.#drop(entry);
    }
  }

  /** Drops a pending entry. Returns false if another process has changed it meanwhile: it may have been sent. */
  async #drop(entry: OutboxEntry): Promise<boolean> {
    try {
      await (isKnownUnapplied(entry) ? this.#outbox.cancel(entry.key) : this.#outbox.withdraw(entry.key));
      return true;
    } catch (error) {
      if (error instanceof InputValidationError) return false;
      throw error;
    }
  }

  async #applyChunk(chunk: readonly Change[]): Promise<void> {
    let open = chunk;
    do {
      const readAt = monotonicNowMs();
      const read = await this.#readAndAdd(open);
      open = await this.#sendWhileFresh(read.open, read.due, readAt);
    } while (open.length > 0);
  }

  /**
   * Reads the state of changes whose next write was not applied, and adds it. Returns the changes that are still open,
   * and those of them that are due.
   */
  async #readAndAdd(changes: readonly Change[]): Promise<{ open: Change[]; due: ReadonlySet<Change> }> {
    const open = new Set(changes);
    const due = new Set<Change>();
    const endUnlessSent = async (progress: Progress<Change>, state: Exclude<ChangeState, { kind: "due" }>) => {
      // It is resent, which changes nothing.
      if (progress.kind === "uncertain" && state.kind === "as-desired") return;
      if (!(await this.#takeBack(progress))) return;
      const { change } = progress;
      open.delete(change);
      if (state.kind === "as-desired") this.#countAsDesired(change);
      else this.#reportAs("stale", change, describeProgress(progress, state.reason));
    };
    const isRead = ({ kind }: Progress<Change>) => kind === "to-add" || kind === "to-send" || kind === "uncertain";
    const toRead = (await this.#readProgress(changes)).filter(isRead);
    const toAdd: Progress<Change>[] = [];
    for (const { progress, state } of await this.#planned.readStates(toRead)) {
      if (state.kind === "due") {
        due.add(progress.change);
        if (progress.kind === "to-add") toAdd.push(progress);
      } else {
        await endUnlessSent(progress, state);
      }
    }
    for (const added of await this.#addNextWrites(toAdd)) {
      const reason = await this.#planned.whyStaleSinceRead?.(added.change);
      if (reason === undefined) continue;
      // If another process has sent it already, the state is read again before a further write is added.
      due.delete(added.change);
      await endUnlessSent(added, { kind: "stale", reason });
    }
    return { open: [...open], due };
  }

  /** Adds the next write of each change. Returns how far they are with its entry. */
  async #addNextWrites(changes: readonly Progress<Change>[]): Promise<Progress<Change>[]> {
    const writes = changes.flatMap(({ change, entries }) => this.#planned.writesOf(change)[entries.length] ?? []);
    const added = await this.#outbox.addMarked(writes);
    return changes.map(({ change, entries, writeCount }, index) =>
      progressOf(change, [...entries, ...added.slice(index, index + 1)], writeCount),
    );
  }

  /**
   * Takes back the write of a change that was added, but not applied. Returns false if the change is no longer as it was
   * read: then this process or another one sends it, and that has changed what was read.
   */
  async #takeBack(read: Progress<Change>): Promise<boolean> {
    const [present] = await this.#readProgress([read.change]);
    if (present?.kind !== read.kind || present.entries.length !== read.entries.length) return false;
    const last = present.entries.at(-1);
    return present.kind === "to-add" || (last !== undefined && this.#drop(last));
  }

  /**
   * Runs the outbox, then adds the next writes of changes, and repeats both while the data are fresh. Returns the
   * changes that are still open: they must be read again.
   */
  async #sendWhileFresh(
    changes: readonly Change[],
    due: ReadonlySet<Change>,
    readAt: number,
  ): Promise<readonly Change[]> {
    for (let open = changes; ; ) {
      const hasEnded = await this.#runOutbox(open, readAt);
      const stillOpen = await this.#collect(open, hasEnded);
      open = stillOpen.map(({ change }) => change);
      // After a run that has ended, each open change has a further write. If the change was due, that is added without
      // reading the state again: only changes of a count have several writes, which are differences, so they stay right
      // if others have booked since. The state of a change that was not due is not known: an attempt was under way when
      // the others were read, or another process has sent its write although it was stale.
      const mayAddNext = hasEnded && open.every((change) => due.has(change));
      if (!mayAddNext || open.length === 0) return open;
      await this.#addNextWrites(stillOpen);
    }
  }

  /** Runs the outbox while the data are fresh. Returns whether the run has ended by itself. */
  async #runOutbox(open: readonly Change[], readAt: number): Promise<boolean> {
    const byLastKey = new Map(open.map((change) => [this.#planned.writesOf(change).at(-1)?.key, change]));
    const tooOld = new AbortController();
    const stopTimer = startTimer(MAX_READING_AGE_MS - (monotonicNowMs() - readAt), () => tooOld.abort());
    const onResult = ({ key }: OutboxEntry) => {
      const change = byLastKey.get(key);
      if (change !== undefined) this.#markEnded(change);
    };
    try {
      const { requests } = await this.#outbox.runUntil(tooOld.signal, { signal: this.#signal ?? undefined, onResult });
      this.#requests += requests;
      return !tooOld.signal.aborted;
    } finally {
      stopTimer();
    }
  }

  /**
   * Counts or reports what became of changes. Returns those that stay open: with a further write, or one that was not
   * sent in time.
   */
  async #collect(open: readonly Change[], hasEnded: boolean): Promise<Progress<Change>[]> {
    const stillOpen: Progress<Change>[] = [];
    for (const progress of await this.#readProgress(open)) {
      const { kind, change, entries } = progress;
      const reason = reasonOf(progress);
      const report = (as: "stale" | "rejected" | "unknown", why: string) =>
        this.#reportAs(as, change, describeProgress(progress, why));
      if (kind === "applied") {
        this.#applied.set(change, Math.max(...entries.map(({ settledAt }) => settledAt ?? Date.now())));
        this.#markEnded(change);
      } else if (kind === "unknown") report("unknown", reason);
      else if (kind === "to-add" || (kind !== "rejected" && !hasEnded)) stillOpen.push(progress);
      else if (kind === "to-send") report(...(await this.#whyNotSent(progress)));
      else if (await this.#planned.isAsDesired?.(change)) this.#countAsDesired(change);
      else if (kind === "canceled") report("stale", "its entry in the outbox was canceled");
      else if (kind === "rejected") report("rejected", reason || "why is not known any more: the entry was pruned");
      else report("unknown", `sent, without a certain outcome (${reason}). Apply the plan again`);
    }
    return stillOpen;
  }

  /** Behind an entry with unknown outcome, or known not to have been applied. */
  async #whyNotSent(progress: Progress<Change>): Promise<["rejected" | "unknown", string]> {
    for await (const { key } of this.#outbox.entries({ state: "unknown", item: this.#laneOf(progress.change) })) {
      return ["unknown", `not sent: it waits for the entry "${key}", whose outcome is unknown. Resolve that first`];
    }
    const reason = reasonOf(progress);
    const happened = progress.entries.at(-1)?.sentAt === undefined ? "not sent" : "not applied";
    return ["rejected", `${happened}${reason === "" ? "" : ` (${reason})`}. Apply the plan again`];
  }

  async #readProgress(changes: readonly Change[]): Promise<Progress<Change>[]> {
    const read: Progress<Change>[] = [];
    for (const change of changes) {
      const writes = this.#planned.writesOf(change);
      const entries: OutboxEntry[] = [];
      for (const { key } of writes) {
        const entry = await this.#outbox.get(key);
        if (!entry) break;
        entries.push(entry);
      }
      read.push(progressOf(change, entries, writes.length));
    }
    return read;
  }

  /** The lane of its entries. */
  #laneOf(change: Change): string {
    return laneOfInput(this.#planned.writesOf(change)[0]?.input);
  }

  #reportAs(kind: "stale" | "rejected" | "unknown", change: Change, reason: string): void {
    this.#reported[kind].push({ ...this.#planned.nameOf(change), reason });
    this.#markEnded(change);
  }

  #countAsDesired(change: Change): void {
    this.#foundAsDesired += 1;
    this.#markEnded(change);
  }

  #markEnded(change: Change): void {
    if (this.#ended.has(change)) return;
    this.#ended.add(change);
    callSafely(() => this.#onProgress?.({ done: this.#ended.size, total: this.#planned.changes.length }));
  }
}
