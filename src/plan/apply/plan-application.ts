import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import { laneOfInput } from "../../outbox/new-entries.js";
import type { Outbox } from "../../outbox/outbox.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { callSafely } from "../../shared/time/callback.js";
import { monotonicNowMs, startTimer } from "../../shared/time/clock.js";
import type { PlanReader } from "../plan-reader.js";
import type { PlanApplyOptions, PlanReport } from "./options.js";
import { describeProgress, type Progress, progressOf, READ_KINDS, reasonOf, UNFINISHED_KINDS } from "./progress.js";

/** No write that `apply` sends is based on older data. */
const MAX_DATA_AGE_MS = 600_000;
/** The part of that age that a chunk may take by the rate limit: failures and pauses take the rest. */
const CHUNK_SHARE = 0.6;

/** How the keys of the entries of all plans begin. */
export const KEY_PREFIXES = { items: "plan-items/", count: "plan-count/" } as const;

/** Why a change is stale; `undefined` if it is not. */
type StaleCheck = () => Promise<string | undefined>;

/** How the service is now, compared with a change of a plan. */
export type ChangeState =
  /** No matter by whom. */
  | { kind: "as-desired" }
  /**
   * As it was at the time of the plan. `check`: whether others have added writes to the outbox since, which would change
   * what was read. Left out if that does no harm.
   */
  | { kind: "due"; check?: StaleCheck }
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
  /** How many changes are read ahead of sending, at most. */
  maxChunkSize: number;
  /** About how many requests a change of a large chunk takes. */
  requestsPerChange: number;
  /** The writes of a change, in order, all of one item. */
  writesOf(change: Change): readonly NewOutboxEntry[];
  /** What a report calls it. */
  nameOf(change: Change): Named;
  /** Whether this plan replaces the entry of another plan for one of its items. */
  replaces(entry: OutboxEntry): boolean;
  /** Reads the present state of changes, some of whose writes may have been applied. */
  readStates(changes: readonly Progress<Change>[]): Promise<ChangeAsRead<Change>[]>;
  /**
   * Whether the service is as the change wants it, although it has refused a write, its outcome is uncertain, or it was
   * canceled. Left out if the service does not show that.
   */
  isAsDesired?(change: Change): Promise<boolean>;
  /** Reads again what was written, and when, in ms since the epoch. A failure must not take the report with it. */
  readBack(written: ReadonlyMap<Change, number>): Promise<ReadBack<Change, Stored>>;
}

/** All writes of a change are in one lane. */
const laneOf = (writes: readonly NewOutboxEntry[]): string => laneOfInput(writes[0]?.input);

/** What the service has shown of the changes of a chunk. */
class Observation<Change> {
  readonly readAt = monotonicNowMs();
  /** The changes that are due, each with the check that it has still to pass. */
  readonly due = new Map<Change, StaleCheck | undefined>();
}

/**
 * Applies the changes of a plan, chunk by chunk. A change is open until it ends: it is counted as applied, or reported as
 * stale, rejected or unknown. progress.ts describes how far an open change can be.
 *
 * An observation of the service shows which changes are due: those for which it is as it was at the time of the plan.
 * Their writes may be sent for ten minutes, also further ones: only a change of a count has several, which are
 * differences, so they stay right if others have booked since. Then the observation is out of date, and no change is due.
 *
 * The open changes take these steps, until none is left:
 *
 *   read      of those that are not due, the present state is read. They are due then, or end
 *   add       the next write of each due change enters the outbox
 *   confirm   those that have become due in this round pass their check, or end as stale
 *   run       the outbox sends what it can: of this plan, only the writes of due changes. The run is interrupted when the
 *             observation is out of date
 *   collect   the others end, unless a write is left
 *
 *   kind       read                                collect
 *   to-add     due, as desired or stale            stays open
 *   to-send    the same. Its entry is withdrawn    rejected; unknown behind an unknown entry * **
 *              if it ends
 *   uncertain  due, or stale. It is due as         as desired, or unknown * **
 *              desired, too: to resend it
 *              changes nothing
 *   under-way  not read                            as desired, or unknown *
 *   rejected   not read                            as desired, or rejected
 *   canceled   not read                            as desired, or stale
 *   applied    not read                            applied
 *   unknown    not read                            unknown
 *
 *   *  after an interrupted run: stays open
 *   ** not due, or `to-send` behind one that is not: stays open
 *
 * So a run sends three kinds of entries: those of due changes, those of other plans that `#cancelOtherPlans` has left, and
 * those of no plan. What this plan has left behind, in another chunk, too, or has reported, stays pending until it is
 * read. The outbox decides about an entry that was under way; if that was not applied, it is pending and not due.
 *
 * Another process may apply the same plan, or run the outbox. So a change only ends before the run if nobody has added or
 * sent a write of it since its progress was read. Otherwise it stays open, and is not due.
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
  readonly #done = new Set<Change>();

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
    const { changes } = this.#planned;
    const chunkSize = this.#chunkSize();
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

  /** As many changes as the rate limit allows to read and send before the observation is out of date. */
  #chunkSize(): number {
    const { reader, maxChunkSize, requestsPerChange } = this.#planned;
    const { share, intervalMs } = reader.client.bulkAllowance;
    const requests = (share * MAX_DATA_AGE_MS * CHUNK_SHARE) / intervalMs;
    return Math.max(1, Math.min(Math.floor(requests / requestsPerChange), maxChunkSize));
  }

  /**
   * The outbox would send the entries of other plans along, without reading again what they are based on. Those for the
   * same items must not be sent after this plan, and none whose data are too old: an item may be as this plan wants it, so
   * that it has no change for it.
   */
  async #cancelOtherPlans(): Promise<void> {
    const { changes, keyPrefix } = this.#planned;
    const lanes = new Set(changes.map((change) => laneOf(this.#planned.writesOf(change))));
    const isOfPlan = (key: string) => Object.values(KEY_PREFIXES).some((prefix) => key.startsWith(prefix));
    for await (const entry of this.#outbox.entries({ state: "pending" })) {
      if (!isOfPlan(entry.key) || entry.key.startsWith(keyPrefix)) continue;
      const isReplaced = lanes.has(laneOfInput(entry.input)) && this.#planned.replaces(entry);
      if (isReplaced || Date.now() - entry.addedAt > MAX_DATA_AGE_MS) await this.#drop(entry);
    }
  }

  /** Drops a pending entry. Returns false if another process has changed it meanwhile: it may have been sent. */
  async #drop(entry: OutboxEntry): Promise<boolean> {
    try {
      await this.#outbox.withdraw(entry.key);
      return true;
    } catch (error) {
      if (error instanceof InputValidationError) return false;
      throw error;
    }
  }

  async #applyChunk(chunk: readonly Change[]): Promise<void> {
    let open = await this.#readProgress(chunk);
    let observation = new Observation<Change>();
    do {
      open = await this.#read(open, observation);
      await this.#add(open, observation);
      open = await this.#confirm(open, observation);
      const isInterrupted = await this.#run(open, observation);
      open = await this.#collect(open, observation, isInterrupted);
      if (isInterrupted) observation = new Observation();
    } while (open.length > 0);
  }

  async #read(open: readonly Progress<Change>[], { due }: Observation<Change>): Promise<Progress<Change>[]> {
    const ended = new Set<Change>();
    const toRead = open.filter(({ change, kind }) => !due.has(change) && READ_KINDS.has(kind));
    for (const { progress, state } of await this.#planned.readStates(toRead)) {
      if (state.kind === "due") due.set(progress.change, state.check);
      // It is resent, since it may still be in progress. That changes nothing.
      else if (progress.kind === "uncertain" && state.kind === "as-desired") due.set(progress.change, undefined);
      else if (await this.#endBeforeRun(progress, state)) ended.add(progress.change);
    }
    return open.filter(({ change }) => !ended.has(change));
  }

  async #add(open: readonly Progress<Change>[], { due }: Observation<Change>): Promise<void> {
    const toAdd = open.filter(({ change, kind }) => kind === "to-add" && due.has(change));
    await this.#outbox.addMarked(toAdd.flatMap(({ writes, entries }) => writes[entries.length] ?? []));
  }

  async #confirm(open: readonly Progress<Change>[], { due }: Observation<Change>): Promise<Progress<Change>[]> {
    const ended = new Set<Change>();
    for (const [change, check] of due) {
      due.set(change, undefined);
      const reason = await check?.();
      if (reason === undefined) continue;
      due.delete(change);
      if (await this.#endBeforeRun(await this.#progressOf(change), { kind: "stale", reason })) ended.add(change);
    }
    return open.filter(({ change }) => !ended.has(change));
  }

  /** Ends a change, and drops its pending entry. Returns false if it stays open: somebody sends its write. */
  async #endBeforeRun(read: Progress<Change>, state: Exclude<ChangeState, { kind: "due" }>): Promise<boolean> {
    const { change, kind } = read;
    const present = await this.#progressOf(change);
    if (present.kind !== kind || present.entries.length !== read.entries.length) return false;
    const last = present.entries.at(-1);
    if (kind !== "to-add" && last && !(await this.#drop(last))) return false;
    if (state.kind === "as-desired") this.#countAsDesired(change);
    else this.#reportAs("stale", change, describeProgress(present, state.reason));
    return true;
  }

  /** Returns whether the run was interrupted, because the observation is out of date. */
  async #run(open: readonly Progress<Change>[], { readAt, due }: Observation<Change>): Promise<boolean> {
    const dueKeys = new Set(
      open.flatMap(({ change, writes }) => (due.has(change) ? writes.map(({ key }) => key) : [])),
    );
    const maySend = (key: string) => dueKeys.has(key) || !key.startsWith(this.#planned.keyPrefix);
    const byLastKey = new Map(open.map(({ change, writes }) => [writes.at(-1)?.key, change]));
    const onResult = ({ key }: OutboxEntry) => {
      const change = byLastKey.get(key);
      if (change !== undefined) this.#markDone(change);
    };
    const outOfDate = new AbortController();
    const stopTimer = startTimer(MAX_DATA_AGE_MS - (monotonicNowMs() - readAt), () => outOfDate.abort());
    try {
      const options = { signal: this.#signal ?? undefined, onResult };
      const { requests } = await this.#outbox.runWithin({ end: outOfDate.signal, maySend }, options);
      this.#requests += requests;
      return outOfDate.signal.aborted;
    } finally {
      stopTimer();
    }
  }

  /** Returns the changes that stay open. */
  async #collect(
    open: readonly Progress<Change>[],
    { due }: Observation<Change>,
    isInterrupted: boolean,
  ): Promise<Progress<Change>[]> {
    const stillOpen: Progress<Change>[] = [];
    const all = await this.#readProgress(open.map(({ change }) => change));
    const isUnread = ({ kind, change }: Progress<Change>) => READ_KINDS.has(kind) && !due.has(change);
    // The run has set aside their lanes, and with these the entries behind.
    const heldUpLanes = new Set(all.filter(isUnread).map(({ writes }) => laneOf(writes)));
    for (const progress of all) {
      const { kind, change, entries, writes } = progress;
      const reason = reasonOf(progress);
      const report = (as: "stale" | "rejected" | "unknown", why: string) =>
        this.#reportAs(as, change, describeProgress(progress, why));
      const isHeldUp = kind === "to-send" && heldUpLanes.has(laneOf(writes));
      const isUnfinished = isInterrupted && UNFINISHED_KINDS.has(kind);
      if (kind === "to-add" || isUnread(progress) || isHeldUp || isUnfinished) stillOpen.push(progress);
      else if (kind === "applied") {
        this.#applied.set(change, Math.max(...entries.map(({ settledAt }) => settledAt ?? Date.now())));
        this.#markDone(change);
      } else if (kind === "unknown") report("unknown", reason);
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
    for await (const { key } of this.#outbox.entries({ state: "unknown", item: laneOf(progress.writes) })) {
      return ["unknown", `not sent: it waits for the entry "${key}", whose outcome is unknown. Resolve that first`];
    }
    const reason = reasonOf(progress);
    const happened = progress.entries.at(-1)?.attempts === 0 ? "not sent" : "not applied";
    return ["rejected", `${happened}${reason === "" ? "" : ` (${reason})`}. Apply the plan again`];
  }

  async #readProgress(changes: readonly Change[]): Promise<Progress<Change>[]> {
    const read: Progress<Change>[] = [];
    for (const change of changes) read.push(await this.#progressOf(change));
    return read;
  }

  async #progressOf(change: Change): Promise<Progress<Change>> {
    const writes = this.#planned.writesOf(change);
    const entries: OutboxEntry[] = [];
    for (const { key } of writes) {
      const entry = await this.#outbox.get(key);
      if (!entry) break;
      entries.push(entry);
    }
    return progressOf(change, writes, entries);
  }

  #reportAs(kind: "stale" | "rejected" | "unknown", change: Change, reason: string): void {
    this.#reported[kind].push({ ...this.#planned.nameOf(change), reason });
    this.#markDone(change);
  }

  #countAsDesired(change: Change): void {
    this.#foundAsDesired += 1;
    this.#markDone(change);
  }

  #markDone(change: Change): void {
    if (this.#done.has(change)) return;
    this.#done.add(change);
    callSafely(() => this.#onProgress?.({ done: this.#done.size, total: this.#planned.changes.length }));
  }
}
