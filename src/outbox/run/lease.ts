import { onAbort } from "../../shared/time/abort.js";
import { monotonicNowMs, startTimer } from "../../shared/time/clock.js";
import type { ClaimedLane, OutboxStore } from "../store.js";
import { Interrupted } from "./outcome.js";

/** A share of the lease in which nothing is sent any more, so that a request has left this process before the lease ends. */
const SAFETY_MARGIN = 0.1;

/** The right to work on a lane, for a limited time. Both signals have an {@link Interrupted} as their reason. */
export class Lease {
  readonly #stop = new AbortController();
  readonly #end = new AbortController();
  readonly #stopListening: () => void;
  #stopTimer = () => {};
  #endsAt = 0;
  #endsAtEpoch = 0;

  /** @param runStopped aborted when the run that has the lease is to send nothing more */
  constructor(
    readonly lane: string,
    runStopped: AbortSignal,
  ) {
    // The reason why the run was stopped may be an error of any class: the run alone keeps it.
    const stop = () => this.#stop.abort(new Interrupted("the run of the outbox was stopped"));
    // A run has many leases: of `AbortSignal.any`, its signal would keep something of each.
    this.#stopListening = onAbort(runStopped, stop);
    if (runStopped.aborted) stop();
  }

  /** Aborted when nothing more may begin: the run was stopped, or the lease has ended. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when the lease has ended: then a request in flight must end, too. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  get mayBegin(): boolean {
    return !this.stopped.aborted && !this.#isOver;
  }

  assertMayBegin(): void {
    if (this.#isOver) this.end();
    this.stopped.throwIfAborted();
  }

  /** The wall clock is checked too: the monotonic clock stands still while the machine is suspended, and timers are late. */
  get #isOver(): boolean {
    return monotonicNowMs() >= this.#endsAt || Date.now() >= this.#endsAtEpoch;
  }

  /** It lasts this long, counted from a time before the store was called. */
  extend({ startedAt, startedAtEpoch }: RequestTime, leaseMs: number): void {
    const usableMs = leaseMs * (1 - SAFETY_MARGIN);
    this.#endsAt = startedAt + usableMs;
    this.#endsAtEpoch = startedAtEpoch + usableMs;
    this.#stopTimer();
    this.#stopTimer = startTimer(this.#endsAt - monotonicNowMs(), () => this.end());
  }

  /** Ends it early. */
  end(): void {
    this.#stopTimer();
    for (const controller of [this.#stop, this.#end])
      controller.abort(new Interrupted(`the lease of ${this.lane} has ended`));
  }

  dispose(): void {
    this.#stopTimer();
    this.#stopListening();
  }
}

/** When the store was called, by both clocks. */
interface RequestTime {
  startedAt: number;
  startedAtEpoch: number;
}

const requestTime = (): RequestTime => ({ startedAt: monotonicNowMs(), startedAtEpoch: Date.now() });

const RENEWALS_PER_LEASE = 3;

/** The leases of one run, which are renewed until they are released. */
export class Leases {
  readonly #store: OutboxStore;
  readonly #owner: string;
  readonly #leaseMs: number;
  readonly #runStopped: AbortSignal;
  readonly #held = new Map<string, Lease>();
  #stopTimer = () => {};

  constructor(store: OutboxStore, owner: string, leaseMs: number, runStopped: AbortSignal) {
    this.#store = store;
    this.#owner = owner;
    this.#leaseMs = leaseMs;
    this.#runStopped = runStopped;
  }

  /** Leases up to `limit` further lanes, except some. */
  async claim(limit: number, except: readonly string[]): Promise<{ claimed: ClaimedLane; lease: Lease }[]> {
    const time = requestTime();
    const held = [...this.#held.keys()];
    const lanes = await this.#store.claim({
      owner: this.#owner,
      leaseMs: this.#leaseMs,
      limit,
      except: [...except, ...held],
    });
    if (this.#held.size === 0 && lanes.length > 0) this.#renewLater();
    return lanes.map((claimed) => {
      const lease = new Lease(claimed.lane, this.#runStopped);
      lease.extend(time, this.#leaseMs);
      this.#held.set(claimed.lane, lease);
      return { claimed, lease };
    });
  }

  /** Ends a lease. If the store fails, it ends by itself. */
  async release(lease: Lease): Promise<void> {
    lease.dispose();
    this.#held.delete(lease.lane);
    if (this.#held.size === 0) this.#stopTimer();
    await this.#store.release({ owner: this.#owner, lane: lease.lane }).catch(() => {});
  }

  #renewLater(): void {
    this.#stopTimer();
    this.#stopTimer = startTimer(this.#leaseMs / RENEWALS_PER_LEASE, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const time = requestTime();
    const leases = [...this.#held.values()];
    try {
      const lanes = leases.map(({ lane }) => lane);
      const renewed = new Set(await this.#store.renew({ owner: this.#owner, leaseMs: this.#leaseMs, lanes }));
      for (const lease of leases) {
        if (this.#held.get(lease.lane) !== lease) continue;
        if (renewed.has(lease.lane)) lease.extend(time, this.#leaseMs);
        else lease.end();
      }
    } catch {
      // The next renewal may succeed; otherwise the leases end.
    }
    if (this.#held.size > 0) this.#renewLater();
  }
}
