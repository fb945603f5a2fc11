import { PermissionError, TimeoutError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import { errorJson, resultJson } from "../entry.js";
import {
  type ClaimedLane,
  type EntryChange,
  isIdempotent,
  type StateChange,
  type StoredEntry,
  withoutAttempt,
} from "../store.js";
import type { RunContext } from "./context.js";
import { callForEntry, type EntryCallEnd } from "./entry-call.js";
import { findOutcome, findReasonOfRefusal, type UncertainAttempt } from "./find-outcome.js";
import type { Lease } from "./lease.js";
import { AttemptOutdated, concernsAllWrites, type Outcome, outcomeOf } from "./outcome.js";

/*
 * One lane (the entries of one item), while its lease lasts. Each step takes the work as it stands, and returns it as
 * it stands then; `undefined` ends the work on the lane in this run.
 *
 *   state of the entry        step                      then
 *   pending                   send it, if the run may   the outcome of the call decides. If the run may not, the lane is
 *                                                       set aside
 *   sending                   find its outcome          the next entry: this one if it is pending again. If others must
 *                                                       wait (quietMs), the work ends: the next claim sends an update
 *                                                       or discontinue at once, others after the quiet time. If it
 *                                                       cannot be found now, the entry stays `sending`, and the lane is
 *                                                       set aside, as it is after an update or discontinue that this
 *                                                       run has sent
 *   applied, rejected, …      take the next entry       pending or sending; none: the work ends
 *
 *   outcome of a call         what is stored            then
 *   applied, rejected         that state                the next entry
 *   uncertain                 sending, with the error   find its outcome
 *   refused-perhaps-applied   sending, with the error   find the reason: applied, rejected or unknown; the next entry
 *   failed                    pending, with the error   the lane is set aside for the rest of the run
 *   interrupted               pending, unless changed   the work ends; the next entry if this one was settled
 *   fails-for-all             pending, with the error   the run ends
 *
 * A request takes effect within `settleMs` of the moment at which it was sent, or never. These times follow from that:
 *
 *   outdatedAtMs   when the last attempt can no longer take effect, by the monotonic clock: `settleMs` after a call has
 *                  ended; after a crash earlier, by the time in which no process had a lease, so that nothing was sent
 *   quietMs        how long no other entry may be sent, since an attempt of this one may still take effect. The entry
 *                  itself need not wait if it is an update or discontinue. Only the store counts it: a change that
 *                  stores one ends the work, and the next claim returns what is left
 *
 * After a kill the entry in progress is `sending`, without an error. When the lease of the lane has ended, another run
 * claims it, and begins here with that entry.
 */
interface Work {
  entry: StoredEntry;
  /** How often the entry was sent in this run. */
  sends: number;
  /** When the last attempt for the lane can no longer take effect. */
  outdatedAtMs: number;
}

/** How often an entry is resent in one run, if its outcome is unknown each time. */
const MAX_RESENDS = 3;

/** Works on a lane until nothing is left, its lease ends, or the run stops. */
export class LaneWorker {
  readonly #run: RunContext;
  readonly #lease: Lease;
  readonly #claimed: ClaimedLane;
  /** When the quiet time of the lane ends, by the monotonic clock. */
  readonly #quietEndsAtMs: number;

  constructor(run: RunContext, lease: Lease, claimed: ClaimedLane) {
    this.#run = run;
    this.#lease = lease;
    this.#claimed = claimed;
    this.#quietEndsAtMs = monotonicNowMs() + claimed.quietMs;
  }

  async work(): Promise<void> {
    const { entry, unleasedMs = 0 } = this.#claimed;
    const outdatedAtMs = monotonicNowMs() + this.#run.settings.settleMs - unleasedMs;
    let work: Work | undefined = { entry, sends: 0, outdatedAtMs };
    while (work && this.#lease.mayBegin) work = await this.#advance(work);
  }

  async #advance(work: Work): Promise<Work | undefined> {
    switch (work.entry.state) {
      case "pending":
        return this.#run.maySend(work.entry.key) ? this.#send(work) : this.#setAside(work);
      case "sending": {
        const found = await this.#find(findOutcome, work);
        // The call has retried it already, so the service is failing: the next run resends it, whatever was found and
        // stored. After a crash nothing shows that, and it is resent in the same run.
        if (isIdempotent(work.entry.operation) && work.sends > 0) return this.#setAside(work);
        return found && this.#next(found);
      }
      default:
        return this.#next(work);
    }
  }

  /** Takes the next entry of the lane. It is the same one if that is pending again, unless one before it is, too. */
  async #next(work: Work): Promise<Work | undefined> {
    const entry = await this.#run.settings.store.next(work.entry.lane);
    if (entry?.key === work.entry.key) return { ...work, entry };
    return entry && { ...work, entry, sends: 0 };
  }

  async #send(work: Work): Promise<Work | undefined> {
    const { entry, sends } = work;
    if (sends > MAX_RESENDS) return this.#setAside(work);
    // An attempt of its own is no reason to wait if it has the same effect.
    const isOwn = entry.key === this.#claimed.quietKey && isIdempotent(entry.operation);
    const quietMs = this.#quietEndsAtMs - monotonicNowMs();
    if (quietMs > 0 && !isOwn) {
      await this.#run.capacity.whileWaiting(() => sleep(quietMs, this.#lease.stopped));
      return work;
    }
    const end = await callForEntry(this.#run, entry, this.#lease);
    const outcome = outcomeOf(end);
    const outdatedAtMs = monotonicNowMs() + this.#run.settings.settleMs;
    const sent = { entry: end.entry, sends: sends + 1, outdatedAtMs };
    const next = await this.#afterCall(sent, end, outcome);
    const isFailure = outcome === "failed" || (outcome === "rejected" && end.error instanceof PermissionError);
    // The look-up after a refusal has recorded how it ended.
    if (outcome !== "refused-perhaps-applied") this.#run.failures.record(end.entry, isFailure ? end.error : undefined);
    return next;
  }

  async #afterCall(work: Work, end: EntryCallEnd, outcome: Outcome): Promise<Work | undefined> {
    const { entry, error, result } = end;
    // Later entries must wait if an earlier attempt of the same call may still arrive.
    const mayArriveLate = isIdempotent(entry.operation) && end.isUncertain;
    const settled = { settledAt: Date.now(), ...(mayArriveLate && { quietMs: this.#run.settings.settleMs }) };
    switch (outcome) {
      case "applied": {
        const warning = error === undefined ? null : errorJson(error);
        return this.#storeOutcome(work, { state: "applied", result: resultJson(result), error: warning, ...settled });
      }
      case "rejected":
        return this.#storeOutcome(work, { state: "rejected", error: errorJson(error), ...settled });
      case "uncertain":
      case "refused-perhaps-applied": {
        const stored = await this.#storeOutcome(work, { state: "sending", error: errorJson(error) });
        if (outcome === "uncertain" || stored?.entry.state !== "sending") return stored;
        return this.#find(findReasonOfRefusal, stored);
      }
      case "interrupted":
        return this.#afterInterruption(work, end);
      case "failed":
        await this.#storeFailure(work, end);
        return this.#setAside(work);
      case "fails-for-all":
        await this.#storeFailure(work, end);
        // Otherwise the run ends for another reason, or another process works on the lane.
        if (this.#lease.mayBegin) this.#run.fail(error);
        return undefined;
    }
  }

  /** A person or another process has changed the entry, the lease has ended, or the run was stopped. */
  async #afterInterruption(work: Work, { before, entry, error }: EntryCallEnd): Promise<Work | undefined> {
    if (error instanceof AttemptOutdated) {
      const { entry: current } = error;
      const isToSend = current?.state === "pending" || current?.state === "sending";
      return current && !isToSend ? { ...work, entry: current } : undefined;
    }
    if (entry.state === "sending") await this.#storeOutcome(work, { state: "pending", ...withoutAttempt(before) });
    return undefined;
  }

  /** The write is known not to have been applied, nor was it rejected: it stays pending until the next run. */
  async #storeFailure(work: Work, { before, entry, error }: EntryCallEnd): Promise<void> {
    if (entry.state !== "sending") return;
    await this.#storeOutcome(work, { state: "pending", ...withoutAttempt(before), error: errorJson(error) });
  }

  /** Stores the outcome of an attempt that is known. */
  async #storeOutcome(work: Work, change: StateChange): Promise<Work | undefined> {
    return afterChange(work, await this.#run.commits.storeAttemptOutcome(work.entry, change), change);
  }

  /** Finds out the outcome of an uncertain attempt, and stores it. */
  async #find(
    find: (run: RunContext, attempt: UncertainAttempt) => Promise<StateChange> | StateChange,
    work: Work,
  ): Promise<Work | undefined> {
    const { entry, outdatedAtMs } = work;
    const attempt = { entry, outdatedAtMs, signal: this.#lease.stopped };
    try {
      return await this.#run.capacity.whileWaiting(async () => {
        const change = await find(this.#run, attempt);
        return afterChange(work, await this.#run.commits.storeFoundOutcome(entry, change), change);
      });
    } catch (error) {
      if (this.#lease.stopped.aborted) return undefined;
      // The service does not respond as it should at the moment. Other lanes may continue.
      if (error instanceof TimeoutError) return this.#setAside(work);
      if (concernsAllWrites(error)) throw error;
      this.#run.failures.record(entry, error);
      return this.#setAside(work);
    }
  }

  #setAside({ entry }: Work): undefined {
    this.#run.setAside(entry.lane);
    return undefined;
  }
}

/** What is left to do once a change was stored. If nothing may be sent for a while, that begins with another claim. */
const afterChange = (work: Work, stored: StoredEntry | undefined, { quietMs = 0 }: EntryChange): Work | undefined =>
  stored && quietMs === 0 ? { ...work, entry: stored } : undefined;
