import { randomUUID } from "node:crypto";
import { StorageError } from "../shared/errors/index.js";
import { monotonicNowMs, startTimer } from "../shared/time/clock.js";
import { sleep } from "../shared/time/wait.js";
import { rejectionOf } from "../storage/storage-failure.js";
import type { OpenStore, SenderRow } from "./store.js";

/*
 * Who sends. The rate limit is one for all, so that a second sender would send nothing sooner: of all processes that run an
 * outbox, one sends at a time.
 *
 *   free       the row names nobody. The first that writes its name holds the lock
 *   held       the holder counts up `beat`, several times per lease
 *   abandoned  `beat` has not changed for the lease of the holder, which its row has, by the clock of the process that
 *              waits. That one writes its own name over the name and the beat that it has seen
 *
 * No process compares its clock with that of another one or of the database: each measures one span by its own monotonic
 * clock. The holder sends nothing once a share of its lease has passed since it last began to count; a waiting process
 * waits for a whole lease. A name that was taken over does not begin attempts any more: `OpenStore.markSending` compares it.
 *
 * Lost is lost: a holder that did not hold the lock for a moment, since a clock was set or the machine slept, takes it again
 * under a new name before it goes on.
 *
 * A row whose beat is behind what the holder has stored has lost commits. Nothing more is sent then. The row is read for that
 * when no heartbeat is under way any more.
 */

/** A share of the lease in which nothing is sent any more, so that a request has left this process before the lease ends. */
const SAFETY_MARGIN = 0.2;
const BEATS_PER_LEASE = 4;
/** How often in a row the database may refuse a heartbeat. */
const MAX_BEAT_REJECTIONS = 3;
/** When a heartbeat that was refused is tried again, in ms. */
const REJECTED_RETRY_MS = 250;
const MIN_LOCK_POLL_MS = 20;
const MAX_LOCK_POLL_MS = 1_000;

/** The times of a sender. */
export interface LockTimes {
  leaseMs: number;
  settleMs: number;
}

/**
 * Called when the outbox waits: for another process that sends, which is the sender's if it is silent for that long, or until a
 * request whose response was lost has taken effect or never will.
 */
export type OnWait = (what: "sender" | "outcome", waitMs: number) => void;

/** The right to send. */
export class SenderLock {
  readonly name = randomUUID();
  /** The largest `settleMs` of all senders of the store. */
  settleMs: number;
  readonly #store: OpenStore;
  readonly #leaseMs: number;
  /** What was stored last. */
  #beat = 0;
  #heldUntil = 0;
  /** The machine may have slept: the monotonic clock stands still meanwhile. */
  #heldUntilEpoch = 0;
  readonly #lost = new AbortController();
  #stopTimers = () => {};
  /** The beat of the row when it was released; `undefined` if that is not known. */
  #releasedBeat: number | undefined;
  /** Whether nobody else has sent since the same run held the lock before. */
  isContinued = false;
  /** Heartbeats that are under way. */
  readonly #beating = new Set<Promise<unknown>>();
  #rejections = 0;
  /** Why the database refuses heartbeats. */
  #rejected: unknown;
  /** The keys that were sent, and the beat at that time. */
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

  /** Checked right before the first byte of each request. Once it is not held, it never is again. */
  get isHeld(): boolean {
    const isOver = monotonicNowMs() >= this.#heldUntil || Date.now() >= this.#heldUntilEpoch;
    if (isOver) this.#lose();
    return !this.lost.aborted;
  }

  /** Aborted when it is not held any more: requests in flight must end. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** What `OpenStore.markSending` expects of the row. */
  get expectedRow(): { sender: string; beat: number } {
    return { sender: this.name, beat: this.#beat };
  }

  /** Notes that an attempt begins. */
  addSent(key: string): void {
    this.#sent.set(key, this.#beat);
  }

  /** Counts up. If it is not held any more, it is lost. */
  async confirm(): Promise<void> {
    const next = this.#beat + 1;
    const until = this.#usableUntil();
    const beating = this.#store.beat(this.name, next);
    this.#beating.add(beating);
    try {
      if (!(await beating)) return this.#lose();
      // An earlier one may end later.
      this.#beat = Math.max(this.#beat, next);
      this.#rejections = 0;
    } finally {
      this.#beating.delete(beating);
    }
    this.#hold(until);
  }

  /**
   * Lets others send at once. If the store fails, they wait for a lease. Returns an error if commits are lost, or if the
   * database has refused heartbeats.
   */
  async release(): Promise<unknown> {
    this.#stopTimers();
    // It may have ended by itself, before anything else has shown that.
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

  /** Its time counts from the moment before the store is asked. */
  #usableUntil(): [monotonic: number, epoch: number] {
    const usableMs = this.#leaseMs * (1 - SAFETY_MARGIN);
    return [monotonicNowMs() + usableMs, Date.now() + usableMs];
  }

  #hold([until, untilEpoch]: [number, number]): void {
    if (this.lost.aborted) return;
    // The reply may have come too late: nothing is held between two times.
    if (this.#heldUntil > 0 && !this.isHeld) return;
    [this.#heldUntil, this.#heldUntilEpoch] = [until, untilEpoch];
    this.#arm();
  }

  #arm(): void {
    this.#stopTimers();
    const stopEnd = startTimer(this.#heldUntil - monotonicNowMs(), () => this.#lose());
    // The next one may succeed; otherwise it ends by itself.
    const beat = () => void this.confirm().catch((error: unknown) => this.#noteFailure(error));
    const usualMs = this.#leaseMs / BEATS_PER_LEASE;
    const stopBeat = startTimer(this.#rejections > 0 ? Math.min(usualMs, REJECTED_RETRY_MS) : usualMs, beat);
    this.#stopTimers = () => {
      stopEnd();
      stopBeat();
    };
  }

  /** The next heartbeat may succeed; otherwise the lock ends by itself, or when the database goes on refusing. */
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

  /** An error if the database has lost commits; otherwise another process has taken over, which counts up. */
  async #lostCommits(): Promise<StorageError | undefined> {
    await Promise.allSettled(this.#beating);
    const stored = this.#beat;
    const { sender, beat } = await this.#store.sender();
    // To release it counts up once.
    if (sender === this.name && this.#beating.size === 0) this.#releasedBeat = beat + 1;
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
