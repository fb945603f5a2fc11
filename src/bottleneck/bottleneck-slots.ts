import type Bottleneck from "bottleneck";
import { ConnectionError } from "../errors/index.js";
import { messageOf } from "../errors/unknown-value.js";
import { safetyMarginMs } from "../limiter/quota.js";
import {
  type Slot,
  type SlotCounts,
  type SlotKind,
  type SlotListener,
  type SlotSource,
  totalCountOf,
} from "../limiter/slot-source.js";
import type { MonotonicClock } from "../time/clock.js";

/**
 * Bottleneck's priorities range from 0 to 9. Pages have the least urgent one, so that jobs of other code take
 * precedence.
 */
const JOB_PRIORITY: Record<SlotKind, number> = { single: 5, bulk: 9 };

/** A job of a Bottleneck that has started: the right to send one request, until it ends. */
interface StartedJob {
  kind: SlotKind;
  end(): void;
}

export interface BottleneckSlotsOptions {
  /** Where the jobs run; both may be the same Bottleneck. */
  bottlenecks: Record<SlotKind, Bottleneck>;
  /**
   * An exact window: this many jobs at the same time, each of which continues for this long after its request has
   * ended.
   */
  window?: { requests: number; intervalMs: number };
  clock: MonotonicClock;
  listener: SlotListener;
}

/** Slots that are jobs of a Bottleneck: each runs from when its request may be sent until its slot is free again. */
export class BottleneckSlots implements SlotSource {
  readonly #bottlenecks: Record<SlotKind, Bottleneck>;
  readonly #window: BottleneckSlotsOptions["window"];
  readonly #clock: MonotonicClock;
  readonly #listener: SlotListener;
  /** Jobs that wait in the Bottleneck. */
  readonly #queued = { single: 0, bulk: 0 };
  /** Jobs that have started, and that no call has taken yet. */
  #started: StartedJob[] = [];
  #inFlight = 0;
  /** Jobs of ended requests, in the order in which they end. */
  #held: { endsAt: number; job: StartedJob }[] = [];
  #wanted: SlotCounts = { single: 0, bulk: 0 };
  #wakeUpTimer: { time: number; stop: () => void } | undefined;

  constructor({ bottlenecks, window, clock, listener }: BottleneckSlotsOptions) {
    this.#bottlenecks = bottlenecks;
    this.#window = window;
    this.#clock = clock;
    this.#listener = listener;
  }

  get available(): number {
    if (!this.#window) return this.#started.length;
    this.#endHeldJobs();
    return Math.max(0, this.#window.requests - this.#inFlight - this.#held.length);
  }

  take(isBulk: boolean): Slot | undefined {
    const indexOf = (kind: SlotKind) => this.#started.findIndex((job) => job.kind === kind);
    // A single call may use the job of a page, so a page never takes precedence over it. A page may not use the job of
    // a single call.
    const index = isBulk || indexOf("single") < 0 ? indexOf("bulk") : indexOf("single");
    const [job] = index < 0 ? [] : this.#started.splice(index, 1);
    if (!job) return undefined;
    this.#inFlight += 1;
    return {
      endSent: () => {
        this.#inFlight -= 1;
        this.#holdJob(job);
      },
      endUnsent: () => {
        this.#inFlight -= 1;
        this.#offerJob(job);
      },
    };
  }

  earliestStart(_isBulk: boolean, ahead: SlotCounts): number {
    // A Bottleneck of the caller does not report when a slot will be free.
    if (!this.#window) return 0;
    const { requests, intervalMs } = this.#window;
    const now = this.#clock.now();
    const missing = totalCountOf(ahead) - this.available;
    if (missing < 0) return now;
    const rounds = Math.floor(missing / requests);
    return (this.#held[missing % requests]?.endsAt ?? now + intervalMs) + rounds * intervalMs;
  }

  setWanted(wanted: SlotCounts): void {
    this.#wanted = wanted;
    this.#endHeldJobs();
    for (const kind of ["single", "bulk"] as const) {
      while (this.#missingJobs(kind) > 0) this.#scheduleJob(kind);
    }
    this.#setWakeUpTimer();
  }

  pauseStarted(): void {}

  /** Calls of this kind for which there is no job yet. */
  #missingJobs(kind: SlotKind): number {
    return this.#wanted[kind] - this.#queued[kind] - this.#started.filter((job) => job.kind === kind).length;
  }

  #scheduleJob(kind: SlotKind): void {
    this.#queued[kind] += 1;
    let isQueued = true;
    const leaveQueue = () => {
      if (isQueued) this.#queued[kind] -= 1;
      isQueued = false;
    };
    this.#bottlenecks[kind]
      .schedule({ priority: JOB_PRIORITY[kind] }, async () => {
        // A job that has failed may be started again by the caller's `failed` listener.
        if (!isQueued) return;
        leaveQueue();
        await new Promise<void>((end) => this.#offerJob({ kind, end }));
      })
      .catch((error: unknown) => {
        // One that expired: its request is in progress or has ended.
        if (!isQueued) return;
        leaveQueue();
        if (this.#missingJobs(kind) <= 0) return;
        const message = `the Bottleneck refused a slot, nothing was sent: ${messageOf(error)}`;
        this.#listener.slotRefused(kind === "bulk", new ConnectionError(message, { cause: error }));
      });
  }

  /** Offers a job to the calls that wait; a Bottleneck cannot take a job back, so one that nobody takes ends. */
  #offerJob(job: StartedJob): void {
    this.#started.push(job);
    queueMicrotask(() => {
      this.#listener.slotsChanged();
      for (const { end } of this.#started.splice(0)) end();
    });
  }

  #holdJob(job: StartedJob): void {
    if (!this.#window) {
      job.end();
      return;
    }
    const { intervalMs } = this.#window;
    this.#held.push({ endsAt: this.#clock.now() + intervalMs + safetyMarginMs(intervalMs), job });
    this.#setWakeUpTimer();
  }

  #endHeldJobs(): void {
    const now = this.#clock.now();
    while (this.#held[0] && this.#held[0].endsAt <= now) this.#held.shift()?.job.end();
  }

  /** Wakes up when the next job ends, only while a call waits: a timer keeps the process alive. */
  #setWakeUpTimer(): void {
    const time = totalCountOf(this.#wanted) > 0 ? this.#held[0]?.endsAt : undefined;
    if (time === this.#wakeUpTimer?.time) return;
    this.#wakeUpTimer?.stop();
    this.#wakeUpTimer =
      time === undefined ? undefined : { time, stop: this.#clock.startTimerAt(time, () => this.#wakeUp()) };
  }

  #wakeUp(): void {
    this.#wakeUpTimer = undefined;
    this.#endHeldJobs();
    this.#setWakeUpTimer();
  }
}
