import { randomUUID } from "node:crypto";
import { StorageError } from "../shared/errors/index.js";
import { monotonicNowMs, startTimer } from "../shared/time/clock.js";
import { sleep } from "../shared/time/wait.js";
import { rejectionOf } from "../storage/storage-failure.js";
import type { OpenStore, SenderRow } from "./store.js";

/*
 * The right to send. All processes share one rate limit, so a second sender would not be faster: one process sends at a time.
 * The row of the store has the name of the sender, its lease and a number, `beat`.
 *
 *   free       the row has no name. The first process that writes its name into it holds the lock
 *   held       the holder increases `beat`, several times per lease
 *   abandoned  a waiting process has seen the same name and `beat` for the whole lease in the row. It replaces the name, if
 *              name and `beat` are still the same
 *
 * No process compares its clock with the clock of another process or of the database. Each measures by its own monotonic
 * clock: the holder stops sending 80 % of a lease after its last successful heartbeat began, and a waiting process waits for a
 * whole lease. A process whose name was replaced begins no attempt: `OpenStore.markSending` compares the name.
 *
 * A lost lock stays lost. If the holder did not hold the lock for a moment, because a clock was set or the machine slept, it
 * takes the lock again, under a new name, before it sends anything.
 *
 * If `beat` in the row is smaller than the number that the holder stored last, the database has lost commits, and
 * nothing more is sent. The holder compares the two numbers after its last heartbeat has ended.
 */

/** The share at the end of a lease in which nothing is sent, so that requests have left this process before the lease ends. */
const SAFETY_MARGIN = 0.2;
const BEATS_PER_LEASE = 4;
/** How often in a row the database may reject a heartbeat. */
const MAX_BEAT_REJECTIONS = 3;
/** The delay before a rejected heartbeat is tried again, in ms. */
const REJECTED_RETRY_MS = 250;
const MIN_LOCK_POLL_MS = 20;
const MAX_LOCK_POLL_MS = 1_000;

export interface LockTimes {
  leaseMs: number;
  settleMs: number;
}

/**
 * Called when the outbox waits. `sender`: another process sends, and keeps the lock for at most `waitMs` if it is silent.
 * `outcome`: a response was lost, and its request may take effect for another `waitMs`.
 */
export type OnWait = (what: "sender" | "outcome", waitMs: number) => void;

export class SenderLock {
  readonly name = randomUUID();
  /** The largest `settleMs` of all senders of the store. */
  settleMs: number;
  readonly #store: OpenStore;
  readonly #leaseMs: number;
  /** The `beat` that this process stored last. */
  #beat = 0;
  #heldUntil = 0;
  /** `#heldUntil` by the wall clock: while the machine sleeps, the monotonic clock stands still. */
  #heldUntilEpoch = 0;
  readonly #lost = new AbortController();
  #stopTimers = () => {};
  /** The `beat` of the row after the release; `undefined` if unknown. */
  #releasedBeat: number | undefined;
  /** Whether no other process has held the lock since the same run last held it. */
  isContinued = false;
  /** The commands of heartbeats that have not ended yet. */
  readonly #heartbeats = new Set<Promise<unknown>>();
  #rejections = 0;
  /** The error of a database that has rejected too many heartbeats. */
  #rejected: unknown;
  /** The keys of the entries that were sent, and the `beat` at the time of each attempt. */
  readonly #sent = new Map<string, number>();

  private constructor(store: OpenStore, { leaseMs, settleMs }: LockTimes) {
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.settleMs = settleMs;
  }

  /** Waits until nobody else sends. Returns `undefined` if the signal aborts, or if there is nothing to do any more. */
  static async acquire(
    store: OpenStore,
    times: LockTimes,
    {
      signal,
      isDone,
      previous,
      onWait,
    }: {
      signal: AbortSignal;
      isDone: () => Promise<boolean>;
      previous?: SenderLock | undefined;
      onWait?: OnWait | undefined;
    },
  ): Promise<SenderLock | undefined> {
    const lock = new SenderLock(store, times);
    let seen: SenderRow | undefined;
    let seenAt = 0;
    while (!signal.aborted) {
      const row = await store.sender();
      if (row.sender !== seen?.sender || row.beat !== seen.beat) {
        seen = row;
        seenAt = monotonicNowMs();
      }
      const isFree = row.sender === "" || monotonicNowMs() - seenAt >= row.leaseMs;
      lock.isContinued = previous !== undefined && row.sender === "" && row.beat === previous.#releasedBeat;
      if (isFree && (await lock.#take(row))) return lock;
      if (isFree) continue;
      if (await isDone()) return undefined;
      onWait?.("sender", row.leaseMs - (monotonicNowMs() - seenAt));
      await sleep(Math.min(MAX_LOCK_POLL_MS, Math.max(MIN_LOCK_POLL_MS, row.leaseMs / 20)), signal);
    }
    return undefined;
  }

  /** Whether this process may send. Checked right before the first byte of each request. Once false, always false. */
  get isHeld(): boolean {
    const isOver = monotonicNowMs() >= this.#heldUntil || Date.now() >= this.#heldUntilEpoch;
    if (isOver) this.#lose();
    return !this.lost.aborted;
  }

  /** Aborted when the lock is not held any more: requests in flight must end. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The values that `OpenStore.markSending` expects in the row. */
  get expectedRow(): { sender: string; beat: number } {
    return { sender: this.name, beat: this.#beat };
  }

  addSent(key: string): void {
    this.#sent.set(key, this.#beat);
  }

  /** Sends a heartbeat. If the row has another name, the lock is lost. */
  async confirm(): Promise<void> {
    const next = this.#beat + 1;
    const until = this.#usableUntil();
    const heartbeat = this.#store.heartbeat(this.name, next);
    this.#heartbeats.add(heartbeat);
    try {
      if (!(await heartbeat)) return this.#lose();
      // A later heartbeat may have ended first.
      this.#beat = Math.max(this.#beat, next);
      this.#rejections = 0;
    } finally {
      this.#heartbeats.delete(heartbeat);
    }
    this.#hold(until);
  }

  /**
   * Lets other processes send at once. If the store fails, they wait for a lease. Returns an error if the database has lost
   * commits or has rejected heartbeats.
   */
  async release(): Promise<unknown> {
    this.#stopTimers();
    // Lost commits may be the reason why the lock was lost.
    const commitsLost = this.lost.aborted ? await this.#lostCommits().catch(() => undefined) : undefined;
    this.#lost.abort(new Error("this process sends no more"));
    await this.#store.releaseLock(this.name).catch(() => {});
    return commitsLost ?? this.#rejected;
  }

  async #take(row: SenderRow): Promise<boolean> {
    const until = this.#usableUntil();
    const times = { leaseMs: this.#leaseMs, settleMs: this.settleMs };
    const taken = await this.#store.takeLock(row, { sender: this.name, ...times });
    if (!taken) return false;
    this.#beat = taken.beat;
    this.settleMs = taken.settleMs;
    this.#hold(until);
    return true;
  }

  /** Returns when the lock ends if the next command succeeds. Call it before the command is sent: the time counts from now. */
  #usableUntil(): [monotonic: number, epoch: number] {
    const usableMs = this.#leaseMs * (1 - SAFETY_MARGIN);
    return [monotonicNowMs() + usableMs, Date.now() + usableMs];
  }

  #hold([until, untilEpoch]: [number, number]): void {
    if (this.lost.aborted) return;
    // If the reply came after the end of the lock, the lock is lost.
    if (this.#heldUntil > 0 && !this.isHeld) return;
    [this.#heldUntil, this.#heldUntilEpoch] = [until, untilEpoch];
    this.#arm();
  }

  #arm(): void {
    this.#stopTimers();
    const stopEnd = startTimer(this.#heldUntil - monotonicNowMs(), () => this.#lose());
    // After a failed heartbeat, the next one may succeed. If no heartbeat succeeds, the lock ends at its time.
    const sendHeartbeat = () => void this.confirm().catch((error: unknown) => this.#noteFailure(error));
    const usualMs = this.#leaseMs / BEATS_PER_LEASE;
    const delayMs = this.#rejections > 0 ? Math.min(usualMs, REJECTED_RETRY_MS) : usualMs;
    const stopHeartbeat = startTimer(delayMs, sendHeartbeat);
    this.#stopTimers = () => {
      stopEnd();
      stopHeartbeat();
    };
  }

  /**
   * Prepares the next heartbeat after a failure. If the database has rejected too many heartbeats in a row, the lock is
   * lost.
   */
  #noteFailure(error: unknown): void {
    if (this.lost.aborted) return;
    this.#rejections = rejectionOf(error) === "lasting" ? this.#rejections + 1 : 0;
    if (this.#rejections < MAX_BEAT_REJECTIONS) {
      this.#arm();
      return;
    }
    this.#rejected = error;
    this.#lose();
  }

  /** Returns an error if `beat` has decreased: a process that takes over only increases it, so the database has lost commits. */
  async #lostCommits(): Promise<StorageError | undefined> {
    await Promise.allSettled(this.#heartbeats);
    const stored = this.#beat;
    const { sender, beat } = await this.#store.sender();
    // The release increases `beat` once.
    if (sender === this.name && this.#heartbeats.size === 0) this.#releasedBeat = beat + 1;
    if (beat >= stored) return undefined;
    const keys = [...this.#sent].flatMap(([key, at]) => (at >= beat ? [`"${key}"`] : []));
    const what = keys.length === 0 ? "Nothing was sent since." : `Sent since: ${keys.join(", ")}. Check them.`;
    const message = `The database of the outbox has lost commits, as after a failover or a restored backup. ${what}`;
    return new StorageError(message, { location: this.#store.names.store });
  }

  #lose(): void {
    this.#stopTimers();
    this.#lost.abort(new Error("another process may send by now"));
  }
}
