import { BACKGROUND } from "../bulk/requests.js";
import { onRetry } from "../client/for-add-ons.js";
import { InputValidationError, type InventoryClient, type RequestOptions, StocklotError } from "../client/index.js";
import { onAbort } from "../shared/time/abort.js";
import { startTimer } from "../shared/time/clock.js";
import { castUnchecked } from "../shared/unknown.js";
import type { InFlight } from "../storage/database.js";
import { isIdempotent, methodOf, type OutboxOperation } from "../writes/operation.js";
import { concernsAllWrites, isRefusal } from "../writes/refusal.js";
import { inputOf, type StoredEntry } from "./entry.js";

/** The part of a run that a call uses. */
export interface AttemptGate {
  client: InventoryClient;
  /** Stores that an attempt begins. Returns the stored entry; `undefined` if the attempt must not begin. */
  markSending(entry: StoredEntry, clockAheadMs: number | null): Promise<StoredEntry | undefined>;
  /** Stores that the attempt was certainly not applied, while its call goes on. Returns the stored entry. */
  takeBack(entry: StoredEntry): Promise<StoredEntry>;
  mayBegin(): boolean;
  /** Aborted when no request may begin any more. */
  stopped: AbortSignal;
  /** Aborted when the requests in flight must end, too. */
  lost: AbortSignal;
  onRequest(): void;
  /** Counts the requests that are under way: their outcomes are stored before the run ends. */
  inFlight: InFlight;
}

/** The reason with which a call ends if it must not send any more. It says nothing about the outcome of the entry. */
export class Interrupted extends Error {}

/**
 * How a call ended:
 * - `applied`, `refused`: the service has said so
 * - `uncertain`: the write may have been applied
 * - `failed`: the write was not applied, and another entry may succeed
 * - `fails-for-all`: the write was not applied, and every other entry would fail in the same way
 * - `interrupted`: the write was not applied, and must not be sent
 */
export interface EntryCallEnd {
  outcome: "applied" | "refused" | "uncertain" | "failed" | "fails-for-all" | "interrupted";
  entry: StoredEntry;
  result?: unknown;
  error?: unknown;
}

/**
 * Calls the method of an entry. The client makes one attempt, and further attempts only after a 401 or a 429, which prove that
 * the last attempt was not applied. The entry is `sending` during each attempt, and `pending` while the next attempt waits.
 */
export async function callForEntry(gate: AttemptGate, before: StoredEntry): Promise<EntryCallEnd> {
  let entry = before;
  let wasSent = false;
  const abort = new AbortController();
  const interrupt = () => abort.abort(new Interrupted());
  let stopTimer = () => {};
  // When the run is stopped, a request in flight has the time of one attempt. A call that takes longer is waiting for a pause.
  const stop = () => {
    if (wasSent) stopTimer = startTimer(gate.client.timeoutMs, interrupt);
    else interrupt();
  };
  let beginning: Promise<unknown> = Promise.resolve();
  let takenBack: Promise<unknown> = Promise.resolve();
  let endRequest = () => {};
  const markSending = async (clockAheadMs: number | undefined) => {
    const begun = await gate.markSending(entry, clockAheadMs ?? null);
    if (!begun) throw new Interrupted();
    entry = begun;
  };
  const stops = [onAbort(gate.lost, interrupt), onAbort(gate.stopped, stop)];
  const options: RequestOptions = {
    ...BACKGROUND,
    retry: { maxRetries: 0 },
    signal: abort.signal,
    async beforeSend({ clockAheadMs }) {
      await takenBack;
      wasSent = false;
      beginning = markSending(clockAheadMs);
      await beginning;
      return () => {
        if (!gate.mayBegin()) throw new Interrupted();
        wasSent = true;
        endRequest = gate.inFlight.start();
        gate.onRequest();
      };
    },
  };
  if (options.beforeSend)
    onRetry(options.beforeSend, () => {
      wasSent = false;
      endRequest();
      if (gate.stopped.aborted) interrupt();
      if (before.state !== "pending") return;
      takenBack = gate.takeBack(entry).then((stored) => {
        entry = stored;
      });
    });
  try {
    if (!gate.mayBegin()) interrupt();
    const result = await methodOf(gate.client, entry.operation, options)(castUnchecked<never>(inputOf(entry)));
    return { outcome: "applied", entry, result };
  } catch (error) {
    endRequest();
    // An abort does not stop these two database commands. Once they have ended, an entry that was marked but not sent
    // can become pending again.
    await beginning.catch(() => {});
    await takenBack;
    return { outcome: callOutcome(entry.operation, wasSent, error), entry, error };
  } finally {
    endRequest();
    for (const stopListening of stops) stopListening();
    stopTimer();
  }
}

/** Returns what the failure of a call says about its entry. `wasSent`: a byte of the last attempt may have been sent. */
function callOutcome(operation: OutboxOperation, wasSent: boolean, error: unknown): EntryCallEnd["outcome"] {
  const applied = appliedOf(operation, wasSent, error);
  if (applied === "yes") return "applied";
  if (error instanceof InputValidationError || isRefusal(error)) return "refused";
  if (applied === "unknown") return "uncertain";
  if (error instanceof Interrupted) return "interrupted";
  return concernsAllWrites(error) ? "fails-for-all" : "failed";
}

function appliedOf(operation: OutboxOperation, wasSent: boolean, error: unknown): StocklotError["applied"] {
  if (error instanceof StocklotError) return error.applied;
  // An aborted call rejects with the abort's reason if it was not applied. An idempotent call always rejects with this
  // reason.
  const isNotApplied = error instanceof Interrupted && !isIdempotent(operation);
  return wasSent && !isNotApplied ? "unknown" : "no";
}
