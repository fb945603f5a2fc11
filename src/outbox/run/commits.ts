import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import { errorJson } from "../entry.js";
import {
  type EntryChange,
  type OutboxState,
  type OutboxStore,
  type StateChange,
  type StoredEntry,
  type UpdateResult,
  withoutAttempt,
} from "../store.js";
import { AttemptOutdated, lateOutcome } from "./outcome.js";

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;

/** Changes entries in the store. After any failure of the store, it is still known what was sent. */
export class EntryCommits {
  readonly #store: OutboxStore;
  readonly #owner: string;
  /** For how long the commit of an outcome is retried. */
  readonly #patienceMs: number;
  readonly #onStored: (entry: StoredEntry) => void;

  constructor(
    store: OutboxStore,
    { owner, patienceMs, onStored }: { owner: string; patienceMs: number; onStored(entry: StoredEntry): void },
  ) {
    this.#store = store;
    this.#owner = owner;
    this.#patienceMs = patienceMs;
    this.#onStored = onStored;
  }

  /** Stores that an attempt is about to be sent. It may only be sent if this resolves. */
  async beginAttempt(
    entry: StoredEntry,
    start: Pick<EntryChange, "body" | "sentAt" | "clockAheadMs" | "error">,
  ): Promise<StoredEntry> {
    const begun = { ...entry, state: "sending", attempts: entry.attempts + 1 } as const;
    let result: UpdateResult | undefined;
    try {
      result = await this.#begin(entry, begun, start);
    } catch (error) {
      // It is not sent. If this fails too, it is later found as an attempt with unknown outcome.
      const unbegun = { state: entry.state, ...withoutAttempt(entry) };
      await this.#persistently(() => this.#changeLeased(begun, unbegun)).catch(() => {});
      throw error;
    }
    if (!result?.changed) throw new AttemptOutdated(result?.entry);
    return result.entry;
  }

  async #begin(entry: StoredEntry, begun: StoredEntry, start: Partial<EntryChange>): Promise<UpdateResult | undefined> {
    const { state, attempts } = begun;
    const begin = () => this.#changeLeased(entry, { ...start, state, attempts });
    try {
      return await begin();
    } catch {
      // It may have been stored, and only the response of the store was lost. Then it cannot be stored again. A change
      // that changes nothing verifies the lease: while that lasts, an attempt with this number is this one.
      const repeated = await begin();
      return repeated?.changed ? repeated : this.#changeLeased(begun, { attempts });
    }
  }

  /**
   * Stores the outcome that was found for an entry while its lane is leased. Returns the entry as it is then, also if
   * another process has found an outcome; `undefined` if this run must stop working on the lane: its lease has ended, or
   * another process resends the entry.
   */
  async storeFoundOutcome(entry: StoredEntry, change: StateChange): Promise<StoredEntry | undefined> {
    const result = await this.#persistently(() => this.#changeLeased(entry, change));
    if (!result) return undefined;
    if (result.changed || isStoredAs(result.entry, change.state, entry.attempts)) this.#onStored(result.entry);
    return result.changed || result.entry.state !== entry.state ? result.entry : undefined;
  }

  /** Stores the outcome of an attempt. It is a fact, so it does not depend on the lease. Returns the entry as it is then. */
  async storeAttemptOutcome(entry: StoredEntry, change: StateChange): Promise<StoredEntry> {
    const { attempts } = entry;
    const isApplied = change.state === "applied";
    let current = entry;
    for (;;) {
      const late = current === entry ? "store" : lateOutcome({ isApplied, attempts }, current);
      if (late === "ignore") return current;
      const condition = { state: current.state, attempts: current.attempts };
      const wanted = late === "store" ? change : conflictChange(current, attempts);
      const result = await this.#persistently(() => this.#store.update(entry.key, condition, wanted));
      if (!result) return current;
      const isStored = result.changed || isStoredAs(result.entry, wanted.state, current.attempts);
      current = result.entry;
      if (!isStored) continue;
      this.#onStored(current);
      return current;
    }
  }

  /** Changes an entry if it is as it was read, and if this run has the lease of its lane. */
  #changeLeased({ key, state, attempts }: StoredEntry, change: EntryChange): Promise<UpdateResult | undefined> {
    return this.#store.update(key, { state, attempts, owner: this.#owner }, change);
  }

  /** Retries for a limited time if the store fails. */
  async #persistently<T>(action: () => Promise<T>): Promise<T> {
    const startedAt = monotonicNowMs();
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      try {
        return await action();
      } catch (error) {
        if (monotonicNowMs() + waitMs - startedAt > this.#patienceMs) throw error;
      }
      await sleep(waitMs);
    }
  }
}

/** Whether a change was stored by an earlier try, and only the response of the store was lost. */
const isStoredAs = (entry: StoredEntry, state: OutboxState, attempts: number): boolean =>
  entry.state === state && entry.attempts === attempts;

/** Two attempts may have been applied. */
function conflictChange({ attempts: later }: StoredEntry, attempts: number): StateChange {
  const message = `attempt ${attempts} was applied, but its response arrived after attempt ${later} had begun: the write may have been applied twice`;
  return { state: "unknown", error: errorJson({ name: "OutcomeUnknownError", message }) };
}
