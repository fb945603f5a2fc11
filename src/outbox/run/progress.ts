import { publishMessage } from "../../core/telemetry/channels.js";
import { callSafely } from "../../time/callback.js";
import { monotonicNowMs } from "../../time/clock.js";
import { entryOf, type OutboxEntry } from "../entry.js";
import type { OutboxProgress } from "../report.js";
import type { OutboxCounts, StoredEntry } from "../store.js";

export interface ProgressCallbacks {
  onResult?: ((entry: OutboxEntry) => unknown) | undefined;
  onProgress?: ((progress: OutboxProgress) => unknown) | undefined;
}

/** Entries that a run has to send. */
export const entriesToSend = ({ pending, sending, heldBack }: OutboxCounts) => pending - heldBack + sending;

/** Counts the results of a run and reports them. Errors of the callbacks change nothing. */
export class RunProgress {
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
