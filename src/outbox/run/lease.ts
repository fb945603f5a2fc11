import { monotonicNowMs, startTimer } from "../../time/clock.js";
import type { ClaimedLane, OutboxStore } from "../store.js";
import { Interrupted } from "./outcome.js";

/** A share of the lease in which nothing is sent any more, so that a request has left this process before the lease ends. */
const SAFETY_MARGIN = 0.1;

/** The right to work on a lane, for a limited time. */
export class Lease {
  readonly #controller = new AbortController();
  #stopTimer = () => {};
  #endsAt = 0;
  #endsAtEpoch = 0;

  constructor(readonly lane: string) {}

  /** Aborted when the lease has ended. */
  get ended(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Whether it has not ended. The wall clock is checked too: the monotonic clock stands still while the machine is suspended,
   * and timers are late.
   */
  get isHeld(): boolean {
    return !this.ended.aborted && monotonicNowMs() < this.#endsAt && Date.now() < this.#endsAtEpoch;
  }

  assertHeld(): void {
    if (this.isHeld) return;
    this.end();
    throw this.ended.reason;
  }

  /** It lasts this long, counted from a time before the store was called. */
  extend({ startedAt, startedAtEpoch }: RequestTime, leaseMs: number): void {
    const usableMs = leaseMs * (1 - SAFETY_MARGIN);
    this.#endsAt = startedAt + usableMs;
    this.#endsAtEpoch = startedAtEpoch + usableMs;
    this.#stopTimer();
    this.#stopTimer = startTimer(this.#endsAt - monotonicNowMs(), () => this.end());
  }

  /** Ends it early; what is in flight is aborted. */
  end(): void {
    this.#stopTimer();
    this.#controller.abort(new Interrupted(`the lease of ${this.lane} has ended`));
  }

  dispose(): void {
    this.#stopTimer();
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
  readonly #held = new Map<string, Lease>();
  #stopTimer = () => {};

  constructor(store: OutboxStore, owner: string, leaseMs: number) {
    this.#store = store;
    this.#owner = owner;
    this.#leaseMs = leaseMs;
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
      const lease = new Lease(claimed.lane);
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
