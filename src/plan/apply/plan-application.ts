import { InputValidationError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import type { Outbox } from "../../outbox/outbox.js";
import { comparableSku } from "../../service/key.js";
import { callSafely } from "../../time/callback.js";
import { monotonicNowMs, startTimer } from "../../time/clock.js";
import type { PlanApplyOptions, PlanReport } from "./options.js";

/** No write is based on older data. */
export const MAX_READING_AGE_MS = 600_000;

/** How the service is now, compared with a change of a plan. */
export type ChangeState =
  /** No matter by whom. */
  | { kind: "as-desired" }
  /** As it was at the time of the plan. */
  | { kind: "due" }
  | { kind: "stale"; reason: string };

/** What depends on the kind of the plan. */
export interface PlannedChanges<Change, Named> {
  /** The keys of this plan begin with it. */
  keyPrefix: string;
  /** The keys of all plans of this kind begin with it. */
  kindPrefix: string;
  changes: readonly Change[];
  /** How many changes are read ahead of sending. */
  chunkSize: number;
  /** The writes of a change, in order. */
  writesOf(change: Change): readonly NewOutboxEntry[];
  /** What a report calls it. */
  nameOf(change: Change): Named;
  skuOf(change: Change): string;
  /** Reads the present state of changes, some of whose writes may have been applied. */
  readStates(changes: readonly AddedChange<Change>[]): Promise<ReadChange<Change>[]>;
  /** Whether the service is as the change wants it, although it has refused the write, or its outcome is uncertain. */
  isAsDesired(change: Change): Promise<boolean>;
  /** Whether an entry of an item of this plan changes what the plan changes. Then an unsent one of another plan is canceled. */
  concerns(entry: OutboxEntry): boolean;
  add(writes: readonly NewOutboxEntry[]): Promise<unknown>;
  /** Why a change is stale after all, whose writes have just been added: others may have added theirs meanwhile. */
  whyStaleSinceRead?(change: Change): Promise<string | undefined>;
}

/** A change, and the entries of its writes: all or none were added. */
export interface AddedChange<Change> {
  change: Change;
  entries: readonly OutboxEntry[];
}

export interface ReadChange<Change> extends AddedChange<Change> {
  state: ChangeState;
}

/**
 * Applies the changes of a plan in chunks. Of each chunk, the present state is read, then the writes of those that are as
 * they were enter the outbox, then the outbox runs. If the data become too old before the chunk is sent, the run is
 * stopped, and the state of its unsent changes is read again.
 *
 * The keys of the entries consist of the plan's id and the name of the change, so that `progressOf` its entries is known
 * after a crash, too.
 */
export class PlanApplication<Change, Named> {
  /** When each change was applied. */
  readonly applied = new Map<Change, number>();
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
  readonly #planned: PlannedChanges<Change, Named>;
  readonly #outbox: Outbox;
  readonly #signal: AbortSignal | null | undefined;
  readonly #onProgress: PlanApplyOptions["onProgress"];
  /** The comparable SKUs of all changes. */
  readonly #skus: ReadonlySet<string>;
  readonly #ended = new Set<Change>();

  constructor(
    planned: PlannedChanges<Change, Named>,
    outbox: Outbox,
    { signal, onProgress }: Pick<PlanApplyOptions, "signal" | "onProgress">,
  ) {
    this.#planned = planned;
    this.#outbox = outbox;
    this.#signal = signal;
    this.#onProgress = onProgress;
    this.#skus = new Set(planned.changes.map((change) => comparableSku(planned.skuOf(change))));
  }

  async run(): Promise<void> {
    const { changes, chunkSize } = this.#planned;
    await this.#cancelOtherPlans();
    // An empty plan has a chunk, too: other pending entries are sent along.
    for (let start = 0; start === 0 || start < changes.length; start += chunkSize) {
      await this.#applyChunk(changes.slice(start, start + chunkSize));
    }
  }

  reportAs(kind: "stale" | "rejected" | "unknown", change: Change, reason: string): void {
    this.applied.delete(change);
    this.#reported[kind].push({ ...this.#planned.nameOf(change), reason });
    this.#markEnded(change);
  }

  /** What was done, after what was written was read again. */
  report<Stored>(storedDifferently: Stored[], readRequests: number): PlanReport<Named & { reason: string }, Stored> {
    return {
      applied: this.applied.size + this.#foundAsDesired,
      ...this.#reported,
      storedDifferently,
      requests: this.#requests + readRequests,
      durationMs: monotonicNowMs() - this.#startedAtMs,
    };
  }

  /** Unsent entries of other plans for the same must not be sent after this one. */
  async #cancelOtherPlans(): Promise<void> {
    const { keyPrefix, kindPrefix } = this.#planned;
    for await (const entry of this.#outbox.entries({ state: "pending" })) {
      const isOther = entry.key.startsWith(kindPrefix) && !entry.key.startsWith(keyPrefix);
      if (!isOther || progressOf([entry]).kind !== "unsent" || !this.#skus.has(comparableSku(skuOf(entry)))) continue;
      if (this.#planned.concerns(entry)) await this.#cancel(entry.key);
    }
  }

  /** Returns false if another process has changed the entry meanwhile: it may have been sent. */
  async #cancel(key: string): Promise<boolean> {
    try {
      await this.#outbox.cancel(key);
      return true;
    } catch (error) {
      if (error instanceof InputValidationError) return false;
      throw error;
    }
  }

  async #applyChunk(chunk: readonly Change[]): Promise<void> {
    let due: readonly Change[] = chunk;
    for (let hasEnded = false; !hasEnded; ) {
      const readAt = monotonicNowMs();
      const waiting = await this.#addEntries(due);
      hasEnded = await this.#send(waiting, readAt);
      due = await this.#settle(waiting, hasEnded);
    }
  }

  /** Reads the state of changes that are not under way, and adds entries. Returns the changes that have entries. */
  async #addEntries(changes: readonly Change[]): Promise<Change[]> {
    const unread: AddedChange<Change>[] = [];
    for (const change of changes) {
      const entries = await this.#entriesOf(change);
      const { kind } = progressOf(entries);
      if (kind === "none" || kind === "unsent") unread.push({ change, entries });
      else await this.#dropRest(kind, change, entries);
    }
    const added: Change[] = [];
    const waiting = new Set(changes);
    for (const { change, entries, state } of await this.#planned.readStates(unread)) {
      if (state.kind === "due") {
        if (entries.length === 0) added.push(change);
      } else if (await this.#drop(change, entries)) {
        waiting.delete(change);
        if (state.kind === "as-desired") this.#countAsDesired(change);
        else this.reportAs("stale", change, describeProgress(entries, state.reason));
      }
    }
    await this.#planned.add(added.flatMap((change) => this.#planned.writesOf(change)));
    for (const change of added) {
      const reason = await this.#planned.whyStaleSinceRead?.(change);
      if (reason === undefined || !(await this.#drop(change, await this.#entriesOf(change)))) continue;
      waiting.delete(change);
      this.reportAs("stale", change, reason);
    }
    return [...waiting];
  }

  /** After a write that was not applied, what has not been sent of the change would be based on older data: it is canceled. */
  async #dropRest(kind: Progress, change: Change, entries: readonly OutboxEntry[]): Promise<void> {
    if (kind === "rejected" || kind === "canceled") await this.#drop(change, entries);
  }

  /** Returns false if another process sends the entries meanwhile: then it has changed what was read. */
  async #drop(change: Change, entries: readonly OutboxEntry[]): Promise<boolean> {
    const present = await this.#entriesOf(change);
    if (present.map(({ state }) => state).join() !== entries.map(({ state }) => state).join()) return false;
    for (const { key } of entries.filter(({ state }) => state === "pending")) {
      if (!(await this.#cancel(key))) return false;
    }
    return true;
  }

  /** Runs the outbox while the data are fresh. Returns whether the run has ended by itself. */
  async #send(waiting: readonly Change[], readAt: number): Promise<boolean> {
    const byLastKey = new Map(waiting.map((change) => [this.#planned.writesOf(change).at(-1)?.key, change]));
    const aged = new AbortController();
    const remainingMs = MAX_READING_AGE_MS - (monotonicNowMs() - readAt);
    const stopTimer = startTimer(remainingMs, () =>
      aged.abort(new DOMException("The reading is too old.", "AbortError")),
    );
    const signal = this.#signal ? AbortSignal.any([this.#signal, aged.signal]) : aged.signal;
    const onResult = ({ key }: OutboxEntry) => {
      const change = byLastKey.get(key);
      if (change !== undefined) this.#markEnded(change);
    };
    let requests = 0;
    try {
      ({ requests } = await this.#outbox.run({
        signal,
        onResult,
        onProgress: (progress) => ({ requests } = progress),
      }));
      return true;
    } catch (error) {
      if (error !== aged.signal.reason || this.#signal?.aborted) throw error;
      return false;
    } finally {
      this.#requests += requests;
      stopTimer();
    }
  }

  /** Reports what became of the entries. Returns the changes whose entries were not sent in time. */
  async #settle(waiting: readonly Change[], hasEnded: boolean): Promise<Change[]> {
    const late: Change[] = [];
    for (const change of waiting) {
      const entries = await this.#entriesOf(change);
      const { kind, reason } = progressOf(entries);
      await this.#dropRest(kind, change, entries);
      const report = (as: "stale" | "rejected" | "unknown", why: string) =>
        this.reportAs(as, change, describeProgress(entries, why));
      if (kind === "applied") {
        this.applied.set(change, Math.max(...entries.map(({ settledAt }) => settledAt ?? Date.now())));
        this.#markEnded(change);
      } else if (kind === "unknown") report("unknown", reason);
      else if (kind === "canceled") report("stale", "its entry in the outbox was canceled");
      else if (kind !== "rejected" && !hasEnded) late.push(change);
      else if (kind === "none" || kind === "unsent") report(...(await this.#whyNotSent(change, entries)));
      else if (await this.#planned.isAsDesired(change)) this.#countAsDesired(change);
      else if (kind === "rejected") report("rejected", reason || "why is not known any more: the entry was pruned");
      else report("unknown", `sent, without a certain outcome (${reason}). Apply the plan again`);
    }
    return late;
  }

  /** Behind an entry with unknown outcome, or known not to have been applied. */
  async #whyNotSent(change: Change, entries: readonly OutboxEntry[]): Promise<["rejected" | "unknown", string]> {
    for await (const { key } of this.#outbox.entries({ state: "unknown", item: this.#planned.skuOf(change) })) {
      return ["unknown", `not sent: it waits for the entry "${key}", whose outcome is unknown. Resolve that first`];
    }
    const reason = entries.map(reasonOf).find((text) => text !== "");
    return ["rejected", `not sent${reason === undefined ? "" : ` (${reason})`}. Apply the plan again`];
  }

  async #entriesOf(change: Change): Promise<OutboxEntry[]> {
    const entries: OutboxEntry[] = [];
    for (const { key } of this.#planned.writesOf(change)) {
      const entry = await this.#outbox.get(key);
      if (entry) entries.push(entry);
    }
    return entries;
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

/**
 * How far the entries of a change are, and the reason if there is one. What happens next:
 *
 * | | |
 * |---|---|
 * | `none` | the present state is read: as desired, stale, or the entries are added |
 * | `unsent`: some may be applied, the others were never sent | it is read: they are left to the run, or canceled: as desired, stale |
 * | `under-way` | left to the run. Still so after it: as desired, or reported |
 * | `rejected`, `canceled`: some of them | the others that were never sent are canceled. A rejected one: as desired, or reported |
 * | `applied`: all of them; `unknown`, `canceled` | reported |
 */
function progressOf(entries: readonly OutboxEntry[]): { kind: Progress; reason: string } {
  if (entries.length === 0) return { kind: "none", reason: "" };
  if (entries.every(({ state }) => state === "applied")) return { kind: "applied", reason: "" };
  const kinds = entries.map((entry) => {
    const { state, sentAt } = entry;
    const kind = state === "sending" || (state === "pending" && sentAt !== undefined) ? "under-way" : state;
    return { kind, reason: reasonOf(entry) };
  });
  for (const kind of ["unknown", "rejected", "canceled", "under-way"] as const) {
    const found = kinds.find((entry) => entry.kind === kind);
    if (found) return { kind, reason: found.reason };
  }
  return { kind: "unsent", reason: "" };
}

type Progress = "none" | "unsent" | "under-way" | "applied" | "rejected" | "unknown" | "canceled";

const reasonOf = ({ error }: OutboxEntry): string => String(fieldOf(error, "message") ?? "").replace(/\.+$/, "");

/** Of a change with several writes, how many were applied. */
function describeProgress(entries: readonly OutboxEntry[], reason: string): string {
  const applied = entries.filter(({ state }) => state === "applied").length;
  return applied === 0 ? reason : `${applied} of ${entries.length} writes were applied. ${reason}`;
}

const skuOf = ({ input }: OutboxEntry): string => String(fieldOf(input, "shortID") ?? fieldOf(input, "itemID"));
