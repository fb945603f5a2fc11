import { randomUUID } from "node:crypto";
import { durationOf, publishMessage } from "../../client/for-add-ons.js";
import { onAbort } from "../../shared/time/abort.js";
import { callSafely } from "../../shared/time/callback.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import { entryOf, type OutboxEntry } from "../entry.js";
import type { OutboxRunOptions } from "../options.js";
import type { OutboxProgress, OutboxReport } from "../report.js";
import { type ClaimedLane, entriesToSend, type OutboxCounts, type StoredEntry } from "../store.js";
import { EntryCommits } from "./commits.js";
import { Capacity, FailuresInARow, type RunContext, type RunSettings } from "./context.js";
import { LaneWorker } from "./lane-worker.js";
import { type Lease, Leases } from "./lease.js";

const DEFAULT_CONCURRENCY = 4;

/**
 * While this many lanes wait for the outcome of uncertain attempts, or until these cannot take effect any more, the run starts
 * no further lanes: the service has a problem.
 */
const MAX_WAITING = 100;

/** Bounds of the interval at which a run looks for lanes that other processes have released. */
const MIN_POLL_MS = 20;
const MAX_POLL_MS = 1_000;

/** How a plan limits a run. */
export interface RunLimits {
  /** Ends the run early, without an error. */
  end?: AbortSignal | undefined;
  /** Whether the run may send this entry, and what is behind it. */
  maySend?: ((key: string) => boolean) | undefined;
}

/** Sends the entries of an outbox until no work is left. */
export class OutboxRun implements RunContext {
  readonly settings: RunSettings;
  readonly commits: EntryCommits;
  readonly capacity: Capacity;
  readonly failures = new FailuresInARow((error) => this.fail(error));
  readonly #leases: Leases;
  readonly #progress: RunProgress;
  readonly #signals: readonly AbortSignal[];
  readonly #end: AbortSignal | undefined;
  readonly maySend: (key: string) => boolean;
  readonly #stop = new AbortController();
  readonly #setAside = new Set<string>();
  readonly #workers = new Set<Promise<void>>();
  readonly #pollMs: number;
  /** Aborted when a place is free. */
  #placeFree = new AbortController();
  #failure: { error: unknown } | undefined;

  constructor(
    settings: RunSettings,
    { concurrency = DEFAULT_CONCURRENCY, signal, ...callbacks }: OutboxRunOptions,
    { end, maySend = () => true }: RunLimits,
  ) {
    const { client, store, leaseMs, closed } = settings;
    this.settings = settings;
    this.#signals = signal ? [signal, closed] : [closed];
    this.#end = end;
    this.maySend = maySend;
    const owner = randomUUID();
    this.#leases = new Leases(store, owner, leaseMs, this.#stopped);
    this.#progress = new RunProgress(callbacks, (entries, paceMs) => durationOf(entries, client.bulkAllowance, paceMs));
    this.commits = new EntryCommits(store, {
      owner,
      patienceMs: leaseMs,
      onStored: (entry) => this.#progress.stored(entry),
    });
    this.capacity = new Capacity(concurrency, () => this.#placeFree.abort());
    this.#pollMs = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, leaseMs / 20));
  }

  /** Aborted when nothing more is to be sent. */
  get #stopped(): AbortSignal {
    return this.#stop.signal;
  }

  async run(): Promise<OutboxReport> {
    const startedAt = monotonicNowMs();
    for (const signal of this.#signals) signal.throwIfAborted();
    if (this.#end?.aborted) this.#stop.abort(this.#end.reason);
    const stops = [...this.#signals, ...(this.#end ? [this.#end] : [])].map((signal) =>
      onAbort(signal, () => this.#stop.abort(signal.reason)),
    );
    try {
      await this.#workUntilDone().catch((error) => this.fail(error));
      await Promise.all(this.#workers);
    } finally {
      for (const stopListening of stops) stopListening();
    }
    if (this.#failure) throw this.#failure.error;
    for (const signal of this.#signals) signal.throwIfAborted();
    const counts = await this.settings.store.count([]);
    const { applied, rejected } = this.#progress.results;
    const { unknown, heldBack } = counts;
    const durationMs = monotonicNowMs() - startedAt;
    return {
      applied,
      rejected,
      unknown,
      pending: entriesToSend(counts),
      heldBack,
      requests: this.#progress.requests,
      durationMs,
    };
  }

  addRequests(count: number): void {
    this.#progress.requests += count;
  }

  setAside(lane: string): void {
    this.#setAside.add(lane);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort(error);
  }

  async #workUntilDone(): Promise<void> {
    this.#progress.counted(await this.settings.store.count([]));
    while (!this.#stopped.aborted) {
      const begun = await this.#beginLanes();
      if (begun === 0 && this.#workers.size === 0 && (await this.#isDone())) return;
      await this.#waitForWork();
    }
  }

  /** Starts as many lanes as there are places for. Returns how many. */
  async #beginLanes(): Promise<number> {
    const places = Math.min(this.capacity.free, MAX_WAITING - this.capacity.waiting);
    if (places <= 0) return 0;
    const lanes = await this.#leases.claim(places, [...this.#setAside]);
    for (const { claimed, lease } of lanes) {
      const worker = this.#work(claimed, lease);
      this.#workers.add(worker);
      void worker.then(() => {
        this.#workers.delete(worker);
        this.capacity.giveBack();
      });
    }
    return lanes.length;
  }

  /** Never rejects. */
  async #work(claimed: ClaimedLane, lease: Lease): Promise<void> {
    // Meanwhile lanes may have taken the places that were free when it was claimed.
    await this.capacity.take();
    try {
      await new LaneWorker(this, lease, claimed).work();
    } catch (error) {
      this.fail(error);
    }
    await this.#leases.release(lease);
  }

  /**
   * Whether the run has set aside all lanes that are left. It waits for lanes of other processes, since such a process
   * may be killed.
   */
  async #isDone(): Promise<boolean> {
    const counts = await this.settings.store.count([...this.#setAside]);
    this.#progress.counted(counts);
    return entriesToSend(counts) === 0;
  }

  /** Waits until a place is free, or for a while: entries may be added, and leases of other processes may end. */
  async #waitForWork(): Promise<void> {
    await sleep(this.#pollMs, this.#placeFree.signal, this.#stopped);
    this.#placeFree = new AbortController();
  }
}

interface ProgressCallbacks {
  onResult?: ((entry: OutboxEntry) => unknown) | undefined;
  onProgress?: ((progress: OutboxProgress) => unknown) | undefined;
}

/** Counts the results of a run and reports them. Errors of the callbacks change nothing. */
class RunProgress {
  readonly results = { applied: 0, rejected: 0, unknown: 0 };
  requests = 0;
  readonly #callbacks: ProgressCallbacks;
  readonly #etaMs: (entries: number, paceMs: number) => number;
  readonly #startedAt = monotonicNowMs();
  #pending = 0;

  /** @param etaMs the probable time to send this many entries, if each takes `paceMs` while the rate limit does not delay it */
  constructor(callbacks: ProgressCallbacks, etaMs: (entries: number, paceMs: number) => number) {
    this.#callbacks = callbacks;
    this.#etaMs = etaMs;
  }

  counted(counts: OutboxCounts): void {
    this.#pending = entriesToSend(counts);
  }

  /** An entry was stored. */
  stored(entry: StoredEntry): void {
    const { state } = entry;
    if (state === "pending" || state === "sending" || state === "canceled") return;
    this.results[state] += 1;
    this.#pending = Math.max(0, this.#pending - 1);
    const { onResult, onProgress } = this.#callbacks;
    // Their errors change nothing: the entry is stored already.
    if (onResult) callSafely(() => onResult(entryOf(entry)));
    const { results } = this;
    const progress = { ...results, pending: this.#pending };
    publishMessage("stocklot:outbox:progress", () => progress);
    if (!onProgress) return;
    const done = results.applied + results.rejected + results.unknown;
    const etaMs = this.#etaMs(this.#pending, (monotonicNowMs() - this.#startedAt) / done);
    callSafely(() => onProgress({ ...progress, requests: this.requests, etaMs }));
  }
}
