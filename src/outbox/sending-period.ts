import type { InventoryClient } from "../client/index.js";
import { onAbort } from "../shared/time/abort.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { DelayedAbort, type InFlight } from "../storage/database.js";
import { errorJson } from "./entry.js";
import { type LockTimes, type OnWait, SenderLock } from "./sender-lock.js";
import type { OpenStore } from "./store.js";

export interface SenderSettings extends LockTimes {
  client: InventoryClient;
  store: OpenStore;
  closed: AbortSignal;
  inFlight: InFlight;
  onWait?: OnWait | undefined;
}

interface PeriodOptions {
  signal: AbortSignal | null | undefined;
  /** Whether nothing is left to do. Asked while another process sends. */
  isDone: () => Promise<boolean>;
  /** The previous period of the same run. */
  previous?: SendingPeriod | undefined;
}

/** The time in which this process sends, from taking the lock to its release. The signals that end it: see run.ts. */
export class SendingPeriod {
  /** Since when no other process has sent, by the monotonic clock. */
  readonly soleSenderSince: number;
  /** When the last call for an item ended, by the monotonic clock. */
  readonly endedAt: Map<string, number>;

  private constructor(
    readonly settings: SenderSettings,
    /** The store. Waiting for its database is aborted one lease after the period has ended. */
    readonly store: OpenStore,
    readonly lock: SenderLock,
    readonly stop: AbortController,
    previous: SendingPeriod | undefined,
  ) {
    const continued = lock.isContinued ? previous : undefined;
    this.soleSenderSince = continued?.soleSenderSince ?? monotonicNowMs();
    this.endedAt = continued?.endedAt ?? new Map();
  }

  /**
   * Waits until no other process sends, and calls `work`. Returns the result of `work`, or false if nothing was left to
   * do.
   *
   * @throws the reason of the signal or of the closed outbox; a `StorageError` if the database has lost commits.
   */
  static async during(
    settings: SenderSettings,
    { signal, isDone, previous }: PeriodOptions,
    work: (period: SendingPeriod) => Promise<boolean>,
  ): Promise<boolean> {
    const { closed, leaseMs, inFlight, onWait } = settings;
    const signals = signal ? [closed, signal] : [closed];
    const throwIfAborted = () => {
      for (const one of signals) one.throwIfAborted();
    };
    throwIfAborted();
    const stop = new AbortController();
    const stops = signals.map((one) => onAbort(one, () => stop.abort(one.reason)));
    const delayedAbort = new DelayedAbort(leaseMs);
    for (const one of signals) delayedAbort.follow(one, inFlight);
    const store = settings.store.abortableBy(delayedAbort.signal);
    try {
      const waiting = { signal: stop.signal, isDone, previous: previous?.lock, onWait };
      const lock = await SenderLock.acquire(store, settings, waiting);
      if (!lock) throwIfAborted();
      if (!lock) return false;
      stops.push(onAbort(lock.lost, () => stop.abort(lock.lost.reason)));
      delayedAbort.follow(lock.lost);
      const canceled = store.cancelBound(lock.name, Date.now(), errorJson(NOT_SENT_IN_TIME));
      const result = await canceled
        .then(() => work(new SendingPeriod(settings, store, lock, stop, previous)))
        .finally(async () => {
          const failure = await lock.release();
          if (failure) throw failure;
        });
      throwIfAborted();
      return result;
    } finally {
      for (const stopListening of stops) stopListening();
      delayedAbort.stop();
    }
  }
}

/** Why an entry that was bound to an earlier sender is canceled. */
export const NOT_SENT_IN_TIME = {
  name: "StaleEntry",
  message: "The write was not sent while the call that added it ran, and the stock may have changed since.",
};
