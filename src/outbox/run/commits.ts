import { monotonicNowMs } from "../../time/clock.js";
import { sleep } from "../../time/wait.js";
import { type EntryChange, type OutboxState, type OutboxStore, type StoredEntry, withoutAttempt } from "../store.js";
import { lateOutcome } from "./outcome.js";
import { errorJson } from "./stored-json.js";

/** Thrown if an attempt must not be sent, since the entry or its lease has changed. Never reaches the caller. */
export class AttemptOutdated extends Error {
  constructor(readonly entry: StoredEntry | undefined) {
    super("the entry or the lease of its lane has changed");
  }
}

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
    start: Pick<EntryChange, "body" | "sentAt" | "clockAheadMs">,
  ): Promise<StoredEntry> {
    const attempts = entry.attempts + 1;
    const begin = () =>
      this.#store.update(
        entry.key,
        { state: [entry.state], attempts: entry.attempts, owner: this.#owner },
        { ...start, state: "sending", attempts },
      );
    /** While the lane is leased, an attempt with this number is this one. */
    const changeThisAttempt = (change: EntryChange) =>
      this.#store.update(entry.key, { state: ["sending"], attempts, owner: this.#owner }, change);
    const confirm = async () => {
      // The response of the store was lost: it is stored now, or it was before.
      const repeated = await begin();
      return repeated?.changed ? repeated : changeThisAttempt({ attempts });
    };
    const undo = async (error: unknown) => {
      const unbegun = { state: entry.state, ...withoutAttempt(entry) };
      await this.#persistently(() => changeThisAttempt(unbegun)).catch(() => {});
      throw error;
    };
    const result = await begin().catch(confirm).catch(undo);
    if (!result?.changed) throw new AttemptOutdated(result?.entry);
    return result.entry;
  }

  /** Stores the outcome that was found for an entry while its lane is leased. Returns `undefined` if the entry or the lease has changed. */
  async storeFoundOutcome(entry: StoredEntry, change: EntryChange): Promise<StoredEntry | undefined> {
    const condition = { state: [entry.state], attempts: entry.attempts, owner: this.#owner };
    const result = await this.#persistently(() => this.#store.update(entry.key, condition, change));
    if (!result) return undefined;
    // The response of the store to an earlier try may have been lost.
    if (result.changed || result.entry.state === change.state) this.#onStored(result.entry);
    return result.changed || result.entry.state !== entry.state ? result.entry : undefined;
  }

  /** Stores the outcome of an attempt. It is a fact, so it does not depend on the lease. Returns the entry as it is then. */
  async storeAttemptOutcome(entry: StoredEntry, change: EntryChange & { state: OutboxState }): Promise<StoredEntry> {
    const { attempts } = entry;
    const isApplied = change.state === "applied";
    let current = entry;
    for (;;) {
      const late = current === entry ? "store" : lateOutcome({ isApplied, attempts }, current);
      if (late === "ignore") return current;
      const condition = { state: [current.state], attempts: current.attempts };
      const wanted = late === "store" ? change : conflictChange(current, attempts);
      const result = await this.#persistently(() => this.#store.update(entry.key, condition, wanted));
      if (!result) return current;
      // The response of the store to an earlier try may have been lost.
      const isStored = result.entry.state === wanted.state && result.entry.attempts === current.attempts;
      current = result.entry;
      if (!result.changed && !isStored) continue;
      this.#onStored(current);
      return current;
    }
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

/** Two attempts may have been applied. */
function conflictChange({ attempts: later }: StoredEntry, attempts: number): EntryChange & { state: OutboxState } {
  const message = `attempt ${attempts} was applied, but its response arrived after attempt ${later} had begun: the write may have been applied twice`;
  return { state: "unknown", error: errorJson({ name: "OutcomeUnknownError", message }) };
}
