import { BulkRequests } from "../bulk/requests.js";
import { durationOf } from "../client/for-add-ons.js";
import { type InventoryClient, PaginationError, TimeoutError } from "../client/index.js";
import { onAbort } from "../shared/time/abort.js";
import { callSafely } from "../shared/time/callback.js";
import { monotonicNowMs, startTimer } from "../shared/time/clock.js";
import { sleep } from "../shared/time/wait.js";
import { fieldOf } from "../shared/unknown.js";
import type { InFlight } from "../storage/database.js";
import { rejectionOf } from "../storage/storage-failure.js";
import { FailuresInARow } from "../writes/failures-in-a-row.js";
import { isIdempotent, type OutboxOperation } from "../writes/operation.js";
import { concernsAllWrites, isLastingRefusal } from "../writes/refusal.js";
import { type AttemptGate, callForEntry, Interrupted } from "./call.js";
import { entryOf, errorJson, type StoredEntry } from "./entry.js";
import {
  type LookUpResult,
  lookUpAfterRefusal,
  lookUpItem,
  lookUpReceipt,
  type OutcomeLookUp,
} from "./find-outcome.js";
import type { OutboxRunOptions } from "./options.js";
import type { OutboxReport } from "./report.js";
import type { SenderLock } from "./sender-lock.js";
import { NOT_SENT_IN_TIME, type SenderSettings, SendingPeriod } from "./sending-period.js";
import type { EntryChange, OpenStore, SendFilter } from "./store.js";
import { afterCall, afterLookUp } from "./transitions.js";

/*
 * One run at a time sends. It sends during a *period*: from taking the lock (sender-lock.ts) to its release
 * (sending-period.ts). First the run cancels the pending entries that are bound to another sender. Then it takes the
 * first unsettled entry of each item, several items at once:
 *
 *   state                    what the run does
 *   pending                  begins an attempt, which makes the entry `sending`, and calls the method. An entry that is bound to
 *                            another sender is canceled
 *   sending                  an attempt may have been applied. The item is left alone for `settleMs`: after that time, the
 *                            attempt has taken effect, or never will. The next step depends on the operation:
 *     update, discontinue    calls the method again: a second call changes nothing
 *     create                 reads the item: applied if it is as sent, otherwise calls the method again: a SKU is unique
 *     receive                looks up the lot, above the highest record number that was seen when the receipt was sent:
 *                            applied if the lot is found, pending if it is absent, unknown if that is unclear
 *     move, issue            unknown: the service has no list of moves and issues
 *   unknown                  leaves the item alone, until a person has decided
 *
 * transitions.ts has what becomes of the entry after a call and after a look-up.
 *
 *   signal           is aborted by                                   ends
 *   closed           `outbox.close()`                                the period
 *   the caller's     the caller of `run`, or of a plan's `apply`     the period
 *   lock.lost        a heartbeat that is late or rejected; a clock   the period, and the requests in flight
 *                    that was set; the release of the lock
 *   period.stop      the three above; in `runEntries`, a failure     every wait of the run, and each call that is not sent yet.
 *                    that concerns all writes                        A call in flight has the time of one attempt left
 *   stop of an item  period.stop; in `runItem`, the time that the    the same, for the item
 *                    caller has set, or such a failure
 *   of a call        lock.lost; the `stop` of its run                the request (call.ts)
 *   DelayedAbort     the first two and lock.lost, one lease later.   every wait for the database. Until then, outcomes
 *                    After the first two, the lease counts from      are stored
 *                    the end of the requests in flight
 *
 * For example, the caller of `run` aborts while one receipt is in flight (`timeoutMs` and `leaseMs` are 30 s):
 *
 *    0 s   period.stop is aborted: calls that are not sent yet end. The receipt has until 30 s
 *    4 s   the response arrives. The lease of the DelayedAbort begins to count, and the outcome is stored
 *    5 s   the outcome is stored, the lock is released, and `run` rejects with the reason of the signal
 *   34 s   only if the database hangs since 4 s: the DelayedAbort ends the wait, and the receipt stays `sending`
 *
 * `settleMs` does not count from a stored time. If an entry was `sending` before this run took the lock, `settleMs`
 * counts from the time at which the run took the lock: the process that sent the entry had lost the lock before.
 */

/**
 * How many items may be worked on or wait at the same time. If so many items have an uncertain outcome, the service has
 * a problem.
 */
const MAX_BUSY = 100;
const POLL_MS = 500;
/** The delay before the last reading of a look-up, in ms: a list may lack a record for a moment. */
const LOOK_AGAIN_MS = 1_000;
/** After how many uncertain calls in one run an item is left alone. */
const MAX_UNCERTAIN = 2;
/**
 * After how many receipts the highest record number is read again. This is less than a page of lots, so that look-ups
 * read few pages.
 */
const RECEIPTS_PER_READING = 100;
/**
 * After how many rejections by the database a change is given up. If an outcome cannot be stored, the entry may become
 * `unknown`.
 */
const MAX_CHANGE_REJECTIONS = { lasting: 5, passing: 60 } as const;

/** How the outcome of an operation is looked up that cannot simply be repeated. */
const LOOK_UPS: Partial<Record<OutboxOperation, (search: OutcomeLookUp) => Promise<LookUpResult>>> = {
  create: lookUpItem,
  receive: lookUpReceipt,
};
const NO_LOOK_UP = { outcome: "unreadable", reason: "the service has no list of such transactions" } as const;

type Results = Record<"applied" | "rejected" | "unknown" | "requests", number>;

const noResults = (): Results => ({ applied: 0, rejected: 0, unknown: 0, requests: 0 });

export async function runEntries(settings: SenderSettings, options: OutboxRunOptions): Promise<OutboxReport> {
  const startedAt = monotonicNowMs();
  const { store } = settings;
  const { signal } = options;
  const results = noResults();
  const filter = { upTo: await store.lastPlace() };
  const failures = new FailuresInARow();
  const isDone = async () => (await store.next(1, filter)).length === 0;
  let previous: SendingPeriod | undefined;
  // If this process has lost the lock because it was silent for too long, it waits for the lock again.
  for (let isLost = true; isLost; ) {
    isLost = await SendingPeriod.during(settings, { signal, isDone, previous }, async (period) => {
      previous = period;
      await new OutboxRun(period, { options, filter, results, failures, stop: period.stop }).send();
      return !period.lock.isHeld;
    });
  }
  const { toSend: pending, unknown } = await store.countUnsettled();
  const { applied, rejected, requests } = results;
  return { applied, rejected, unknown, pending, requests, durationMs: monotonicNowMs() - startedAt };
}

export interface ItemLimits {
  /** When the work must end, by the monotonic clock. */
  until: number;
  failures: FailuresInARow;
  /** After how many attempts without an outcome the item is left alone; by default, `MAX_UNCERTAIN`. */
  maxUncertain?: number | undefined;
  /** The place of the last entry that is sent. */
  upTo?: number | undefined;
  /** Settles only the entry that is `sending`. No attempt has begun since this time, by the monotonic clock. */
  settlesSince?: number;
}

/** Sends the open entries of one item. Returns the number of requests. */
export async function runItem(
  period: SendingPeriod,
  lane: string,
  { until, failures, maxUncertain, upTo = Number.MAX_SAFE_INTEGER, settlesSince }: ItemLimits,
): Promise<number> {
  if (period.stop.signal.aborted) return 0;
  const [results, stop] = [noResults(), new AbortController()];
  const end = () => stop.abort(new Interrupted());
  const stops = [onAbort(period.stop.signal, end), startTimer(until - monotonicNowMs(), end)];
  const noAttemptSince = settlesSince ?? monotonicNowMs();
  const limits = { maxUncertain, noAttemptSince, settlesOnly: settlesSince !== undefined };
  try {
    const options = { concurrency: 1 };
    await new OutboxRun(period, { options, filter: { upTo, lane }, results, failures, stop, ...limits }).send();
  } finally {
    for (const stopListening of stops) stopListening();
  }
  return results.requests;
}

interface RunParts extends Pick<ItemLimits, "failures" | "maxUncertain"> {
  options: OutboxRunOptions;
  filter: SendFilter;
  results: Results;
  /** Aborted when nothing more may be sent. */
  stop: AbortController;
  /**
   * Since when no attempt for the item has begun, by the monotonic clock in ms. By default, this time is taken from the
   * period, for each item.
   */
  noAttemptSince?: number;
  /** Whether only entries that are `sending` are settled. No pending entry is sent. */
  settlesOnly?: boolean;
}

class OutboxRun implements AttemptGate {
  readonly client: InventoryClient;
  readonly stopped: AbortSignal;
  readonly lost: AbortSignal;
  readonly inFlight: InFlight;
  readonly #period: SendingPeriod;
  readonly #parts: RunParts;
  readonly #store: OpenStore;
  readonly #lock: SenderLock;
  readonly #reader: BulkRequests;
  readonly #startedAt = monotonicNowMs();
  /** The work on items that has not ended, by lane. */
  readonly #busy = new Map<string, Promise<void>>();
  /** For each item that waits for an outcome, the time at which the wait ends, by the monotonic clock. */
  readonly #settlesAt: number[] = [];
  /** Items that are left alone until the next run. */
  readonly #setAside = new Set<string>();
  #ready: StoredEntry[] = [];
  #wake = new AbortController();
  #failure: { error: unknown } | undefined;
  #toSend = 0;
  #receipts = 0;
  #lastRecNoRead: Promise<void> | undefined;
  /** Items that were moved since the highest number was read: lots that a move creates have no mark. */
  readonly #moved = new Set<string>();

  constructor(period: SendingPeriod, parts: RunParts) {
    this.#period = period;
    this.#parts = parts;
    this.client = period.settings.client;
    this.inFlight = period.settings.inFlight;
    this.#store = period.store;
    this.#lock = period.lock;
    this.stopped = parts.stop.signal;
    this.#reader = new BulkRequests({ client: this.client, signal: this.stopped, counter: parts.results });
    this.lost = period.lock.lost;
  }

  async send(): Promise<void> {
    try {
      this.#toSend = (await this.#store.countUnsettled()).toSend;
      while (this.mayBegin()) {
        const wasBusy = this.#busy.size > 0;
        const begun = await this.#fill();
        if (begun === 0 && !wasBusy) break;
        await sleep(POLL_MS, this.#wake.signal, this.stopped);
        this.#wake = new AbortController();
      }
    } catch (error) {
      this.#fail(error);
    }
    await Promise.all(this.#busy.values());
    if (!this.#failure) return;
    // If the lock is lost, the run continues when it has the lock again. Only a late outcome is thrown, because nobody
    // else reports it.
    if (this.#lock.isHeld || this.#failure.error instanceof LateOutcome) throw this.#failure.error;
  }

  /** Begins the work on entries until `concurrency` items are worked on. Returns the number of begun entries. */
  async #fill(): Promise<number> {
    const { concurrency = 4 } = this.#parts.options;
    let begun = 0;
    while (this.mayBegin() && this.#busy.size - this.#settlesAt.length < concurrency && this.#busy.size < MAX_BUSY) {
      if (this.#ready.length === 0) this.#ready = await this.#readReady();
      const entry = this.#ready.shift();
      if (!entry) break;
      begun += 1;
      const work = this.#work(entry).catch((error) => this.#fail(error));
      this.#busy.set(entry.lane, work);
      void work.then(() => {
        this.#busy.delete(entry.lane);
        this.#wake.abort();
      });
    }
    return begun;
  }

  /**
   * Returns the first entries of items that are not worked on. Only this process sends, so the list stays valid. Items whose
   * work ends while the query runs are dropped from it, because the query may have read their old state.
   */
  async #readReady(): Promise<StoredEntry[]> {
    const left = new Set([...this.#busy.keys(), ...this.#setAside]);
    const first = await this.#store.next(MAX_BUSY + left.size, this.#parts.filter);
    return first.filter(({ lane }) => !left.has(lane));
  }

  /** Works on the first entry of an item until it is settled or unknown, or the item is left alone. */
  async #work(first: StoredEntry): Promise<void> {
    const { noAttemptSince, maxUncertain = MAX_UNCERTAIN, settlesOnly } = this.#parts;
    const { endedAt, soleSenderSince } = this.#period;
    let settlesAt = (noAttemptSince ?? endedAt.get(first.lane) ?? soleSenderSince) + this.#lock.settleMs;
    let current: StoredEntry | undefined = first;
    if (first.operation === "move") this.#moved.add(first.lane);
    for (let uncertain = 0; current && this.mayBegin(); ) {
      if (current.state === "sending") {
        if (!(await this.#waitUntil(settlesAt))) return;
        current = await this.#lookUpOutcome(current);
        if (!current || !this.mayBegin()) return;
      }
      const before: StoredEntry = current;
      const isBoundToOther = before.boundTo !== null && before.boundTo !== this.#lock.name;
      if (settlesOnly && before.state === "pending" && !isBoundToOther) return void this.#setAside.add(before.lane);
      // The entry is bound to an earlier sender. It was `sending` when this run took the lock, and was not applied.
      if (before.state === "pending" && isBoundToOther) {
        await this.#change(before, { state: "canceled", settledAt: Date.now(), error: errorJson(NOT_SENT_IN_TIME) });
        return;
      }
      if (before.operation === "receive") await this.#readLastRecNo(before.lane);
      const call = await callForEntry(this, before);
      const { outcome, entry, error } = call;
      endedAt.set(entry.lane, monotonicNowMs());
      if (outcome !== "interrupted" && this.#parts.failures.add(entry.lane, error)) this.#fail(error);
      const { change, next } = afterCall(before.state === "pending" ? "pending" : "sending", call);
      const after = change && (await this.#change(entry, change));
      if (outcome === "fails-for-all") this.#fail(error);
      if (next === "look-up" && after) return this.#lookUpAfterRefusal(after);
      if (next === "nothing" || next === "read-again") return;
      uncertain += 1;
      if (next === "set-aside" || uncertain >= maxUncertain) return void this.#setAside.add(entry.lane);
      settlesAt = monotonicNowMs() + this.#lock.settleMs;
      current = after;
    }
  }

  /** Looks up what became of an entry whose attempts can no longer take effect. Returns the entry if it must be sent again. */
  async #lookUpOutcome(entry: StoredEntry): Promise<StoredEntry | undefined> {
    const { operation } = entry;
    if (isIdempotent(operation)) return entry;
    const look = LOOK_UPS[operation];
    const found = look ? await this.#lookUp(entry, look) : NO_LOOK_UP;
    if (!found) return undefined;
    const change = afterLookUp(entry, found);
    const after = change ? await this.#change(entry, change) : entry;
    return !change || change.state === "pending" ? after : undefined;
  }

  /** Decides about a write that was refused although an earlier attempt may have been applied. */
  async #lookUpAfterRefusal(entry: StoredEntry): Promise<void> {
    const found = await this.#lookUp(entry, lookUpAfterRefusal);
    const change = found && afterLookUp(entry, found, true);
    if (change) await this.#change(entry, change);
  }

  /** Looks up an entry. Returns `undefined` if the entry stays as it is: the run has stopped, or the service fails for now. */
  async #lookUp(
    entry: StoredEntry,
    look: (search: OutcomeLookUp) => Promise<LookUpResult | undefined>,
  ): Promise<LookUpResult | undefined> {
    const pause = () => this.#waitUntil(monotonicNowMs() + Math.min(LOOK_AGAIN_MS, this.#lock.settleMs));
    try {
      const search = { client: this.client, store: this.#store, entry, options: this.#reader.options, pause };
      const found = await look(search);
      return found?.outcome === "unclear" && this.stopped.aborted ? undefined : found;
    } catch (error) {
      if (this.stopped.aborted) return undefined;
      if (isLastingRefusal(error))
        return { outcome: "unreadable", reason: `it could not be looked up (${fieldOf(error, "message")})` };
      // These failures concern this item alone, and may be temporary.
      const concernsThisItem = error instanceof TimeoutError || error instanceof PaginationError;
      if (!concernsThisItem && concernsAllWrites(error)) throw error;
      this.#setAside.add(entry.lane);
      return undefined;
    }
  }

  /**
   * Reads the highest record number before the first receipt of the run, after each `RECEIPTS_PER_READING` receipts, and after a
   * move of the same item. A look-up reads the lots above that number; if the number is unknown, it reads the whole list.
   */
  async #readLastRecNo(lane: string): Promise<void> {
    const wasMoved = this.#moved.delete(lane);
    if (this.#receipts % RECEIPTS_PER_READING === 0 || wasMoved)
      this.#lastRecNoRead = this.client.inventory.receiptLookup.readLastRecNo(this.#reader.options).catch(() => {});
    this.#receipts += 1;
    await this.#lastRecNoRead;
  }

  /** Waits until a time. Returns false if the run was stopped. */
  async #waitUntil(time: number): Promise<boolean> {
    const waitMs = time - monotonicNowMs();
    if (waitMs > 0) {
      this.#settlesAt.push(time);
      this.#reportProgress();
      this.#reportWait();
      this.#wake.abort();
      await sleep(waitMs, this.stopped);
      this.#settlesAt.splice(this.#settlesAt.indexOf(time), 1);
      this.#reportWait();
    }
    return this.mayBegin();
  }

  /**
   * Stores the outcome of an attempt. The lock is not needed for this: the outcome stays true if another process sends
   * by now.
   */
  async #change(entry: StoredEntry, change: EntryChange): Promise<StoredEntry> {
    const { key, attempts } = entry;
    const stored = await this.#persistently(() => this.#store.change(entry, change));
    const present = stored ?? (await this.#persistently(() => this.#store.get(key)));
    // A repeated command finds the change stored if only the response of the database to the first command was lost.
    if (present?.attempts === attempts && present.state === (change.state ?? entry.state)) {
      this.#report(present);
      return present;
    }
    if (change.state !== "applied") throw new Interrupted();
    throw new LateOutcome(
      `Attempt ${attempts} for "${key}" was applied, but this process was silent for longer than its lease, and another ` +
        `process has taken over. The entry is ${present?.state} by now, and may be applied twice. Check it.`,
    );
  }

  async markSending(entry: StoredEntry, clockAheadMs: number | null): Promise<StoredEntry | undefined> {
    const lastRecNo = entry.operation === "receive" ? (this.client.inventory.receiptLookup.lastRecNo ?? null) : null;
    const attempt = { ...this.#lock.expectedRow, sentAt: Date.now(), clockAheadMs, lastRecNo };
    const begun = await this.#persistently(() => this.#store.markSending(entry, attempt));
    if (begun) this.#lock.addSent(entry.key);
    // The attempt must not begin: this process may have lost the lock, or the database may have lost commits.
    else await this.#persistently(() => this.#lock.confirm());
    return begun;
  }

  /** Makes an entry pending again. If the store fails, the entry stays `sending`, as if its outcome were not known. */
  async takeBack(entry: StoredEntry): Promise<StoredEntry> {
    const change = { state: "pending", error: null } as const;
    const stored = await this.#persistently(() => this.#store.change(entry, change)).catch(() => undefined);
    return stored ?? entry;
  }

  mayBegin(): boolean {
    return this.#lock.isHeld && !this.stopped.aborted;
  }

  onRequest(): void {
    this.#parts.results.requests += 1;
  }

  /**
   * Repeats an action while the database fails. Gives up if the lock is lost, if waiting for the database was aborted,
   * or if the database has rejected the action too often (`MAX_CHANGE_REJECTIONS`). Every action may be repeated
   * without harm.
   */
  async #persistently<T>(action: () => Promise<T>): Promise<T> {
    const rejections = { lasting: 0, passing: 0 };
    for (let waitMs = 50; ; waitMs *= 2) {
      try {
        return await action();
      } catch (error) {
        const rejection = rejectionOf(error);
        if (rejection) rejections[rejection] += 1;
        const isTooMany = rejection !== undefined && rejections[rejection] >= MAX_CHANGE_REJECTIONS[rejection];
        if (!this.#lock.isHeld || this.#store.isAborted() || isTooMany) throw error;
      }
      await sleep(Math.min(waitMs, 1_000), this.lost);
    }
  }

  #fail(error: unknown): void {
    if (error instanceof Interrupted) return;
    if (!this.#failure || error instanceof LateOutcome) this.#failure = { error };
    this.#parts.stop.abort(error);
  }

  #report(entry: StoredEntry): void {
    const { state } = entry;
    if (state !== "applied" && state !== "rejected" && state !== "unknown") return;
    const { results, options } = this.#parts;
    results[state] += 1;
    this.#toSend = Math.max(0, this.#toSend - 1);
    const { onResult } = options;
    if (onResult) callSafely(() => onResult(entryOf(entry)));
    this.#reportProgress();
  }

  #reportProgress(): void {
    const { results, options } = this.#parts;
    const { onProgress } = options;
    if (!onProgress) return;
    const done = results.applied + results.rejected + results.unknown;
    const now = monotonicNowMs();
    const paceMs = (now - this.#startedAt) / Math.max(1, done);
    const etaMs = durationOf(this.#toSend, this.client.bulkAllowance, paceMs);
    const progress = { ...results, pending: this.#toSend, etaMs, settlingMs: this.#settlingMs };
    callSafely(() => onProgress(progress));
  }

  /** The time until the first of the waiting items is looked up, in ms; 0 if no item waits. */
  get #settlingMs(): number {
    return this.#settlesAt.length === 0 ? 0 : Math.max(0, Math.min(...this.#settlesAt) - monotonicNowMs());
  }

  #reportWait(): void {
    if (this.#settlesAt.length > 0) this.#period.settings.onWait?.("outcome", this.#settlingMs);
  }
}

/** An attempt was applied, but another sender has decided about its entry meanwhile. */
class LateOutcome extends Error {}
