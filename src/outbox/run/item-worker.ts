import { PermissionError, TimeoutError } from "../../errors/index.js";
import { onAbort } from "../../time/abort.js";
import { monotonicNowMs } from "../../time/clock.js";
import { sleep } from "../../time/wait.js";
import type { ClaimedItem, EntryChange, StoredEntry } from "../store.js";
import { AttemptRefused } from "./commits.js";
import type { RunContext } from "./context.js";
import { callForEntry, type EntryCallEnd } from "./entry-call.js";
import type { Lease } from "./lease.js";
import { concernsAllWrites, isIdempotent, type Outcome, outcomeOf } from "./outcome.js";
import { reconcile, reconcileRefusal, type UncertainAttempt } from "./reconcile.js";
import { errorJson, resultJson } from "./stored-json.js";

const isOpen = (entry: StoredEntry | undefined) => entry?.state === "pending" || entry?.state === "sending";

/** How often an entry is resent in one run, if its outcome is unknown each time. */
const MAX_RESENDS = 3;

/** Works on the entries of one item, in order, while its lease lasts. */
export class ItemWorker {
  readonly #run: RunContext;
  readonly #lease: Lease;
  /** No later entry is sent before this time, by the monotonic clock. */
  #quietUntil: number;
  /** For how long no process can have sent anything for the item. */
  #unleasedMs: number;
  /** Why the outcome of the current entry is not known. */
  #cause: unknown;
  #sends = 0;
  /** Ends waiting and look-ups when the lease ends or the run stops. */
  readonly #interruption = new AbortController();

  constructor(run: RunContext, lease: Lease, { quietMs, unleasedMs = 0 }: ClaimedItem) {
    this.#run = run;
    this.#lease = lease;
    this.#quietUntil = monotonicNowMs() + quietMs;
    this.#unleasedMs = unleasedMs;
  }

  async work(first: StoredEntry): Promise<void> {
    const stops = [this.#lease.ended, this.#run.stopped].map((signal) =>
      onAbort(signal, () => this.#interruption.abort(signal.reason)),
    );
    try {
      let entry: StoredEntry | undefined = first;
      while (entry && this.#mayGoOn) entry = await this.#advance(entry);
    } finally {
      for (const stop of stops) stop();
    }
  }

  get #mayGoOn(): boolean {
    return this.#lease.isHeld && !this.#run.stopped.aborted;
  }

  /**
   * Processes the next step of an entry. Returns its new state, or the next entry; `undefined` if there is nothing to
   * do now.
   */
  async #advance(entry: StoredEntry): Promise<StoredEntry | undefined> {
    switch (entry.state) {
      case "pending":
        return this.#send(entry);
      case "sending":
        return this.#reconcile(entry);
      default:
        this.#sends = 0;
        this.#cause = undefined;
        return this.#run.store.next(entry.item);
    }
  }

  async #send(entry: StoredEntry): Promise<StoredEntry | undefined> {
    if (this.#sends > MAX_RESENDS) return this.#setAside(entry);
    // An attempt of its own is no reason to wait: it has the same effect.
    const quietMs = entry.sentAt === null ? this.#quietUntil - monotonicNowMs() : 0;
    if (quietMs > 0) {
      await this.#settle(() => sleep(quietMs, this.#interruption.signal));
      return entry;
    }
    this.#sends += 1;
    const end = await callForEntry(this.#run, entry, this.#lease);
    const outcome = outcomeOf(end);
    const next = await this.#afterCall(end, outcome);
    const isFailure = outcome === "failed" || (outcome === "rejected" && end.error instanceof PermissionError);
    this.#run.failures.record(end.entry, isFailure ? end.error : undefined);
    return next;
  }

  async #afterCall(end: EntryCallEnd, outcome: Outcome): Promise<StoredEntry | undefined> {
    const { entry, error, result } = end;
    const { commits } = this.#run;
    this.#unleasedMs = 0;
    this.#cause = error;
    const settledAt = Date.now();
    switch (outcome) {
      case "applied":
        return commits.storeOutcome(entry, {
          state: "applied",
          settledAt,
          result: resultJson(result),
          error: error === undefined ? null : errorJson(error),
          ...this.#quietAfter(end),
        });
      case "rejected":
        return commits.storeOutcome(entry, {
          state: "rejected",
          settledAt,
          error: errorJson(error),
          ...this.#quietAfter(end),
        });
      case "refused-again":
        return this.#settle(() => this.#decide(entry, (attempt) => reconcileRefusal(this.#run, attempt)));
      case "uncertain":
        return this.#afterUncertainCall(entry, error);
      case "failed":
      case "stopped":
        return this.#afterFailure(end, outcome);
    }
  }

  /** An entry that is `sending` with an uncertain attempt is reconciled next; `update` and `discontinue` are left for the next run. */
  async #afterUncertainCall(entry: StoredEntry, error: unknown): Promise<StoredEntry | undefined> {
    if (!isIdempotent(entry.operation) || !this.#mayGoOn) return entry;
    await this.#decide(entry, (attempt) => reconcile(this.#run, attempt));
    this.#cause = error;
    return this.#setAside(entry);
  }

  /** The write is known not to have been applied, but it was not rejected either: it stays pending until the next run. */
  async #afterFailure(
    { entry, error, ...end }: EntryCallEnd,
    outcome: "failed" | "stopped",
  ): Promise<StoredEntry | undefined> {
    if (error instanceof AttemptRefused) return isOpen(error.entry) ? undefined : error.entry;
    const { commits, stopped } = this.#run;
    const isInterrupted = !this.#mayGoOn;
    if (entry.state === "sending") {
      const base = end.mayHaveBeenAppliedBefore ? {} : { sentAt: null, clockAheadMs: null };
      const reason = isInterrupted && outcome === "stopped" ? {} : { error: errorJson(error) };
      await commits.storeOutcome(entry, { state: "pending", ...base, ...reason });
    }
    if (outcome === "failed") return this.#setAside(entry);
    if (!isInterrupted && !stopped.aborted) this.#run.fail(error);
    return undefined;
  }

  /** Later entries must wait if an earlier attempt of the same call may still arrive. */
  #quietAfter({ entry, mayHaveBeenApplied }: EntryCallEnd): Pick<EntryChange, "quietMs"> {
    if (!isIdempotent(entry.operation) || !mayHaveBeenApplied) return {};
    this.#quietUntil = monotonicNowMs() + this.#run.settleMs;
    return { quietMs: this.#run.settleMs };
  }

  async #reconcile(entry: StoredEntry): Promise<StoredEntry | undefined> {
    const decided = await this.#settle(() => this.#decide(entry, (attempt) => reconcile(this.#run, attempt)));
    this.#unleasedMs = 0;
    return decided;
  }

  /** Stores the outcome of an uncertain attempt. */
  async #decide(
    entry: StoredEntry,
    findOut: (attempt: UncertainAttempt) => Promise<EntryChange> | EntryChange,
  ): Promise<StoredEntry | undefined> {
    const settlesInMs = Math.max(0, this.#run.settleMs - this.#unleasedMs);
    const { signal } = this.#interruption;
    try {
      const change = await findOut({ entry, settlesInMs, cause: this.#cause, signal });
      if (change.quietMs !== undefined)
        this.#quietUntil = Math.max(this.#quietUntil, monotonicNowMs() + change.quietMs);
      return await this.#run.commits.decide(entry, change);
    } catch (error) {
      if (signal.aborted) return undefined;
      // The service does not respond as it should at the moment. Other items may continue.
      if (error instanceof TimeoutError) return this.#setAside(entry);
      if (concernsAllWrites(error)) throw error;
      this.#run.failures.record(entry, error);
      return this.#setAside(entry);
    }
  }

  #settle<T>(wait: () => Promise<T>): Promise<T> {
    return this.#run.capacity.whileSettling(wait);
  }

  #setAside({ item }: StoredEntry): undefined {
    this.#run.setAside(item);
    return undefined;
  }
}
