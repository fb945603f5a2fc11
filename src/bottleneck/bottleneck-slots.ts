import type Bottleneck from "bottleneck";
import {
  type SlotCounts,
  type SlotKind,
  type SlotListener,
  type SlotSource,
  safetyMarginMs,
  totalCountOf,
} from "../client/for-add-ons.js";
import { ConnectionError } from "../shared/errors/index.js";
import type { MonotonicClock } from "../shared/time/clock.js";
import { messageOf } from "../shared/unknown.js";

/**
 * Bottleneck's priorities range from 0 to 9. Bulk calls have the least urgent one, so that jobs of other code take
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
export function createBottleneckSlots({ bottlenecks, window, clock, listener }: BottleneckSlotsOptions): SlotSource {
  /** Jobs that wait in the Bottleneck. */
  const queued = { single: 0, bulk: 0 };
  /** Jobs that have started, and that no call has taken yet. */
  const started: StartedJob[] = [];
  let inFlight = 0;
  /** Jobs of ended requests, in the order in which they end. */
  const held: { endsAt: number; job: StartedJob }[] = [];
  let wanted: SlotCounts = { single: 0, bulk: 0 };
  const setAlarm = clock.createAlarm(wakeUp);

  const available = () => {
    if (!window) return started.length;
    endHeldJobs();
    return Math.max(0, window.requests - inFlight - held.length);
  };

  return {
    get available() {
      return available();
    },
    take(kind) {
      const indexOf = (wantedKind: SlotKind) => started.findIndex((job) => job.kind === wantedKind);
      // A single call may use the job of a bulk call, so that never takes precedence over it. A bulk call may not use the
      // job of a single call.
      const index = kind === "bulk" || indexOf("single") < 0 ? indexOf("bulk") : indexOf("single");
      const [job] = index < 0 ? [] : started.splice(index, 1);
      if (!job) return undefined;
      inFlight += 1;
      return {
        endSent() {
          inFlight -= 1;
          holdJob(job);
        },
        endUnsent() {
          inFlight -= 1;
          offerJob(job);
        },
      };
    },
    earliestStart(_kind, ahead) {
      // A Bottleneck of the caller does not report when a slot will be free.
      if (!window) return 0;
      const { requests, intervalMs } = window;
      const now = clock.now();
      const missing = totalCountOf(ahead) - available();
      if (missing < 0) return now;
      const rounds = Math.floor(missing / requests);
      return (held[missing % requests]?.endsAt ?? now + intervalMs) + rounds * intervalMs;
    },
    setWanted(counts) {
      wanted = counts;
      endHeldJobs();
      for (const kind of ["single", "bulk"] as const) {
        while (missingJobs(kind) > 0) scheduleJob(kind);
      }
      setWakeUpTimer();
    },
  };

  /** Calls of this kind for which there is no job yet. */
  function missingJobs(kind: SlotKind): number {
    return wanted[kind] - queued[kind] - started.filter((job) => job.kind === kind).length;
  }

  function scheduleJob(kind: SlotKind): void {
    queued[kind] += 1;
    let isQueued = true;
    const leaveQueue = () => {
      if (isQueued) queued[kind] -= 1;
      isQueued = false;
    };
    bottlenecks[kind]
      .schedule({ priority: JOB_PRIORITY[kind] }, async () => {
        // A job that has failed may be started again by the caller's `failed` listener.
        if (!isQueued) return;
        leaveQueue();
        await new Promise<void>((end) => offerJob({ kind, end }));
      })
      .catch((error: unknown) => {
        // One that expired: its request is in progress or has ended.
        if (!isQueued) return;
        leaveQueue();
        if (missingJobs(kind) <= 0) return;
        const message = `the Bottleneck refused a slot, nothing was sent: ${messageOf(error)}`;
        listener.slotRefused(kind, new ConnectionError(message, { cause: error }));
      });
  }

  /** Offers a job to the calls that wait; a Bottleneck cannot take a job back, so one that nobody takes ends. */
  function offerJob(job: StartedJob): void {
    started.push(job);
    queueMicrotask(() => {
      listener.slotsChanged();
      for (const { end } of started.splice(0)) end();
    });
  }

  function holdJob(job: StartedJob): void {
    if (!window) return void job.end();
    const { intervalMs } = window;
    held.push({ endsAt: clock.now() + intervalMs + safetyMarginMs(intervalMs), job });
    setWakeUpTimer();
  }

  function endHeldJobs(): void {
    const now = clock.now();
    while (held[0] && held[0].endsAt <= now) held.shift()?.job.end();
  }

  /** Wakes up when the next job ends, only while a call waits: a timer keeps the process alive. */
  function setWakeUpTimer(): void {
    setAlarm(totalCountOf(wanted) > 0 ? held[0]?.endsAt : undefined);
  }

  function wakeUp(): void {
    endHeldJobs();
    setWakeUpTimer();
  }
}
