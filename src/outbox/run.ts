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
import { isIdempotent } from "../writes/operation.js";
import { concernsAllWrites, isLastingRefusal } from "../writes/refusal.js";
import { type AttemptGate, callForEntry, Interrupted } from "./call.js";
import { entryOf, errorJson, parsed, type StoredEntry } from "./entry.js";
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

/*
 * One run at a time sends (sender-lock.ts, sending-period.ts). It cancels what is pending and bound to another sender. Then it
 * takes the first unsettled entry of each item, several items at once:
 *
 *   state                    what the run does
 *   pending                  begins an attempt, which makes it `sending`, and calls the method; one bound to another sender is
 *                            canceled
 *   sending                  an attempt may have been applied. The item is left alone for `settleMs`: then that attempt has
 *                            taken effect, or never will. Then, by operation:
 *     update, discontinue    calls the method again: a second one changes nothing
 *     create                 reads the item: applied if it is as sent, otherwise calls the method again: a SKU is unique
 *     receive                looks for the lot: applied if it is found, pending if it is absent, unknown if it is unclear.
 *                            Candidates are the lots above the highest number that was seen when it was sent
 *     move, issue            unknown: nothing can be found
 *   unknown                  leaves the item alone, until a person has decided
 *
 *   end of a call            then the entry is
 *   applied                  applied
 *   refused                  rejected. If an attempt before this call may have been applied, the item is read: applied if it is
 *                            as sent (and, for a create, was created since), otherwise unknown
 *   uncertain                sending; after the second time the item is left alone until the next run
 *   failed                   pending, or sending if an attempt before this call may have been applied. The item is left alone
 *                            until the next run; the run ends if every other entry would fail in the same way
 *   interrupted              the same, without an error
 *
 *   signal           is aborted by                                   ends
 *   closed           `outbox.close()`                                the period
 *   the caller's     the caller of `run`, or of a plan's `apply`     the period
 *   lock.lost        a heartbeat that is late or refused; a clock    the period, and the requests in flight
 *                    that was set; the release of the lock
 *   period.stop      the three above; in `runOutbox`, a failure      every wait of the run, and each call that is not sent yet.
 *                    that concerns all writes                        A call in flight has the time of one attempt left
 *   stop of an item  period.stop; in `runItem`, the time that the    the same, for the item
 *                    caller has set, or such a failure
 *   of a call        lock.lost; `stop` of its run, see there         the request (call.ts)
 *   LateEnd          a lease after `closed` or the caller's, and     every wait for the store. Until then, what became of the
 *                    after the end of the requests in flight; a      requests is stored
 *                    lease after lock.lost
 *
 * No time is stored: a run that finds an entry `sending` counts from its own begin, since the process that has sent it had
 * lost the lock before.
 */

/** How many items may be busy, waiting ones included. If more have an uncertain outcome, the service has a problem. */
const MAX_BUSY = 100;
const POLL_MS = 500;
/** A list may lack a record for a moment, and a wrong "absent" would be applied twice. */
const LOOK_AGAIN_MS = 1_000;
/** In one run. */
const MAX_UNCERTAIN = 2;
/** Fewer than a page has lots, so that a look-up need not read many pages. */
const RECEIPTS_PER_READING = 100;
/** How often the database may refuse a change before the run ends with its reason: an outcome that is not stored may be unknown. */
const MAX_CHANGE_REJECTIONS = { lasting: 5, passing: 60 } as const;

/** What a run has counted so far. */
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
  // A process that was silent for too long has lost the lock, and waits for it again.
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

/** How far one item is worked on. */
interface ItemLimits {
  /** By the monotonic clock. */
  until: number;
  /** Those of the items before. */
  failures: FailuresInARow;
  /** After how many attempts without an outcome the item is left alone. */
  maxUncertain?: number | undefined;
  /** The place of the last entry that is sent. */
  upTo?: number | undefined;
  /** Only what is `sending` is worked on: nobody has begun an attempt since then, by the monotonic clock. */
  settlesSince?: number;
}

/** Sends what is open of one item. Returns the number of requests. */
export async function runItem(
  period: SendingPeriod,
  lane: string,
  { until, failures, maxUncertain, upTo = Number.MAX_SAFE_INTEGER, settlesSince }: ItemLimits,
): Promise<number> {
  if (period.stop.signal.aborted) return 0;
  const [results, stop] = [noResults(), new AbortController()];
  const end = () => stop.abort(new Interrupted());
  const stops = [onAbort(period.stop.signal, end), startTimer(until - monotonicNowMs(), end)];
  const heldSince = settlesSince ?? monotonicNowMs();
  const limits = { maxUncertain, heldSince, settlesOnly: settlesSince !== undefined };
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
  /** Since when nobody has sent, by the monotonic clock; missing: what the period knows of the item. */
  heldSince?: number;
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
  /** Items that are worked on. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Until when those that wait do, by the monotonic clock. */
  readonly #settlesAt: number[] = [];
  /** Items that are left alone until the next run. */
  readonly #setAside = new Set<string>();
  #ready: StoredEntry[] = [];
  #wake = new AbortController();
  #failure: { error: unknown } | undefined;
  #toSend = 0;
  #receipts = 0;
  #lastRecNoRead: Promise<void> | undefined;
  /** Items that may have lots of a move above the highest number that was read: such a lot has no mark. */
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
    // Without the lock, this run goes on when it has it again; but nobody else will report a late outcome.
    if (this.#lock.isHeld || this.#failure.error instanceof LateOutcome) throw this.#failure.error;
  }

  /** Begins with as many entries as there are places for. */
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
   * The first entries of items that are not worked on. Nobody else sends them, so the list stays right until it is used. Of an
   * item whose work ends meanwhile, the database may still have shown the entry as it was: it is read again.
   */
  async #readReady(): Promise<StoredEntry[]> {
    const left = new Set([...this.#busy.keys(), ...this.#setAside]);
    const first = await this.#store.next(MAX_BUSY + left.size, this.#parts.filter);
    return first.filter(({ lane }) => !left.has(lane));
  }

  /** Works on the first entry of an item until it is settled or unknown, or the item is left alone. */
  async #work(first: StoredEntry): Promise<void> {
    const { heldSince, maxUncertain = MAX_UNCERTAIN, settlesOnly } = this.#parts;
    const { endedAt, heldSince: periodSince } = this.#period;
    let settlesAt = (heldSince ?? endedAt.get(first.lane) ?? periodSince) + this.#lock.settleMs;
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
      // It was being sent when this run began.
      if (before.state === "pending" && isBoundToOther) {
        await this.#change(before, { state: "canceled", settledAt: Date.now(), error: errorJson(NOT_SENT_IN_TIME) });
        return;
      }
      if (before.operation === "receive") await this.#readLastRecNo(before.lane);
      const { outcome, entry, result, error } = await callForEntry(this, before);
      endedAt.set(entry.lane, monotonicNowMs());
      if (outcome !== "interrupted" && this.#parts.failures.add(entry.lane, error)) {
        this.#fail(error);
        if (error instanceof Error) error.message += ` It failed for several items in a row, last for "${entry.key}".`;
      }
      const isKnown = before.state === "pending";
      const stored = { error: error === undefined ? null : errorJson(error) };
      if (outcome === "applied") return void (await this.#change(entry, appliedChange(result)));
      if (outcome === "refused") {
        if (!isKnown) return void (await this.#lookUpAfterRefusal(await this.#change(entry, stored)));
        await this.#change(entry, { ...stored, state: "rejected", settledAt: Date.now() });
        return;
      }
      if (outcome === "uncertain") {
        settlesAt = monotonicNowMs() + this.#lock.settleMs;
        current = await this.#change(entry, stored);
        uncertain += 1;
        if (uncertain < maxUncertain) continue;
      } else if (entry.state === "sending" && (isKnown || outcome !== "interrupted")) {
        const change = outcome === "interrupted" ? { error: null } : stored;
        await this.#change(entry, isKnown ? { ...change, state: "pending" } : change);
      }
      if (outcome === "fails-for-all") this.#fail(error);
      // One that was changed at the same time is read again.
      if (outcome !== "interrupted") this.#setAside.add(entry.lane);
      return;
    }
  }

  /** Finds out what became of an entry that can no longer take effect. Returns it if its method has to be called. */
  async #lookUpOutcome(entry: StoredEntry): Promise<StoredEntry | undefined> {
    const { operation } = entry;
    if (isIdempotent(operation)) return entry;
    if (operation !== "create" && operation !== "receive") {
      await this.#change(entry, unknownChange(entry, { reason: "the service has no list of such transactions" }));
      return undefined;
    }
    const found = await this.#lookUp(entry, operation === "create" ? lookUpItem : lookUpReceipt);
    if (found?.outcome === "applied") await this.#change(entry, appliedChange(found.result));
    else if (found?.outcome === "unreadable") await this.#change(entry, unknownChange(entry, found));
    // The service refuses it if the SKU exists.
    else if (found && operation === "create") return entry;
    else if (found?.outcome === "absent") return this.#change(entry, { state: "pending", error: null });
    else if (found) await this.#change(entry, unknownChange(entry, found));
    return undefined;
  }

  /** Of a write that was refused although an earlier attempt may have been applied. */
  async #lookUpAfterRefusal(entry: StoredEntry): Promise<void> {
    const found = await this.#lookUp(entry, lookUpAfterRefusal);
    if (found?.outcome === "applied") await this.#change(entry, appliedChange(found.result));
    else if (found) await this.#change(entry, unknownChange(entry, found));
  }

  /** Looks an entry up. Returns `undefined` if it stays as it is: the run has stopped, or the service fails at the moment. */
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
      // Other items may go on.
      const isOfTheMoment = error instanceof TimeoutError || error instanceof PaginationError;
      if (!isOfTheMoment && concernsAllWrites(error)) throw error;
      this.#setAside.add(entry.lane);
      return undefined;
    }
  }

  /**
   * Reads the highest record number before the first receipt of the run, and again after many and after a move of the same item:
   * the lot of a receipt is looked for above it. If that fails, the whole list is read when a receipt has to be looked up.
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

  /** Stores what became of an attempt. It is a fact, so it does not depend on the lock. */
  async #change(entry: StoredEntry, change: EntryChange): Promise<StoredEntry> {
    const { key, attempts } = entry;
    const stored = await this.#persistently(() => this.#store.change(entry, change));
    const present = stored ?? (await this.#persistently(() => this.#store.get(key)));
    // The response of the database to this same change may have been lost.
    if (present?.attempts === attempts && present.state === (change.state ?? entry.state)) {
      this.#report(present);
      return present;
    }
    if (change.state !== "applied") throw new Interrupted();
    throw new LateOutcome(
      `Attempt ${attempts} for "${key}" was applied, but this process was silent for longer than its lease, and another ` +
        `one has taken over: the entry is ${present?.state} by now, and may be applied twice. Check it.`,
    );
  }

  async markSending(entry: StoredEntry, clockAheadMs: number | null): Promise<StoredEntry | undefined> {
    const lastRecNo = entry.operation === "receive" ? (this.client.inventory.receiptLookup.lastRecNo ?? null) : null;
    const attempt = { ...this.#lock.expectedRow, sentAt: Date.now(), clockAheadMs, lastRecNo };
    const begun = await this.#persistently(() => this.#store.markSending(entry, attempt));
    if (begun) this.#lock.addSent(entry.key);
    // The lock may be lost, or commits are.
    else await this.#persistently(() => this.#lock.confirm());
    return begun;
  }

  /** If the store fails, the entry stays `sending`, as one whose outcome is not known. */
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
   * Retries if the store fails, as long as this process may send and waits for the store; some times if the database refuses.
   * Each change may be repeated.
   */
  async #persistently<T>(action: () => Promise<T>): Promise<T> {
    const refusals = { lasting: 0, passing: 0 };
    for (let waitMs = 50; ; waitMs *= 2) {
      try {
        return await action();
      } catch (error) {
        const refusal = rejectionOf(error);
        if (refusal) refusals[refusal] += 1;
        const isRefused = refusal !== undefined && refusals[refusal] >= MAX_CHANGE_REJECTIONS[refusal];
        if (!this.#lock.isHeld || this.#store.isEnded() || isRefused) throw error;
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
    callSafely(() => onProgress({ ...results, pending: this.#toSend, etaMs, settlingMs: this.#settlingMs }));
  }

  /** Until when the first of the items that wait does, in ms; 0 if none does. */
  get #settlingMs(): number {
    return this.#settlesAt.length === 0 ? 0 : Math.max(0, Math.min(...this.#settlesAt) - monotonicNowMs());
  }

  #reportWait(): void {
    if (this.#settlesAt.length > 0) this.#period.settings.onWait?.("outcome", this.#settlingMs);
  }
}

/** An attempt was applied whose entry another sender has decided about meanwhile. */
class LateOutcome extends Error {}

const appliedChange = (result: unknown): EntryChange => ({
  state: "applied",
  settledAt: Date.now(),
  result: JSON.stringify(result) ?? null,
  error: null,
});

function unknownChange({ error: stored }: StoredEntry, found: { reason: string; lots?: number[] }): EntryChange {
  const error = parsed(stored);
  // The advice of an OutcomeUnknownError was followed already.
  const failure = fieldOf(error, "name") === "OutcomeUnknownError" ? (fieldOf(error, "cause") ?? error) : error;
  const why =
    error === undefined ? "the process ended before the response" : String(fieldOf(failure, "message") ?? failure);
  const reason = `The outcome is unknown: ${found.reason} (${why.replace(/\.$/, "")}).`;
  const message = `${reason} Check whether it was applied, then call outbox.resolve.`;
  const { lots } = found;
  return { state: "unknown", error: errorJson({ name: "OutcomeUnknownError", message, reason, lots }) };
}
