import * as z from "zod";
import { checkInput } from "../../shared/check.js";
import { TimeoutError } from "../../shared/errors/index.js";
import { lazy, optionalFields } from "../../shared/field.js";
import { nonNegativeMsSchema } from "../../shared/option.js";
import { onAbort } from "../../shared/time/abort.js";
import { MonotonicClock, startTimer } from "../../shared/time/clock.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";

/** Options of a search for a write with unknown outcome. They apply to each of its requests unless stated otherwise. */
export interface FindOptions extends RequestOptions {
  /**
   * How long the service may still be working on the write, in ms since it was sent. Until then the search runs again
   * and again, and a missing record proves nothing. `0` searches once; `Infinity` searches until it is found.
   * @default 60_000
   */
  settleMs?: number | undefined;
  /**
   * Time limit of the whole search in ms, waits included. When it passes, the search rejects with a `TimeoutError`.
   * `Infinity` for no limit.
   * @default no limit of the search; the client's own `totalTimeoutMs` applies to each request
   */
  totalTimeoutMs?: number | undefined;
}

/** What all searches for the outcome of a write have in common. */
export interface OutcomeSearch {
  /** The method that the caller knows, for messages. */
  method: string;
  /** How long the request may still be in progress. */
  inProgressMs: number;
  options: FindOptions;
  /** Aborted when the client is closed. */
  closed: AbortSignal;
}

/** The result of one step of a search. */
export interface SearchStep<Found> {
  found: Found;
  /** A later step cannot find anything else. */
  isFinal: boolean;
}

const DEFAULT_SETTLE_MS = 60_000;

/** Each wait between two steps is twice as long as the one before. */
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;

const findOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...requestOptionsShape(), ...optionalFields({ settleMs: nonNegativeMsSchema() }) }),
);

/** A checked copy of the options: later changes to the caller's object have no effect. */
export function readFindOptions(method: string, options: FindOptions): FindOptions {
  checkInput(method, findOptionsSchema, options);
  return findOptionsSchema().parse(options);
}

/** How long a request that was sent at this time may still be in progress, in ms. */
export function inProgressMsOf(sentAt: number, { settleMs = DEFAULT_SETTLE_MS }: FindOptions): number {
  // A sending time in the future is wrong. Whatever the right one is, the request has ended after the full `settleMs`.
  return Math.min(settleMs, Math.max(0, sentAt + settleMs - Date.now()));
}

/** Repeats the step until its outcome is final, or until a step has started when the request can no longer take effect. */
export async function searchUntilCertain<Found>(
  { method, inProgressMs, closed, options }: OutcomeSearch,
  step: (options: RequestOptions) => Promise<SearchStep<Found>>,
): Promise<Found> {
  const { settleMs: _, signal, totalTimeoutMs: ownTimeoutMs, ...requestOptions } = options;
  const totalTimeoutMs = ownTimeoutMs ?? Infinity;
  if (signal?.aborted) throw signal.reason;
  const clock = new MonotonicClock();
  const startedAt = clock.now();
  const endsAt = startedAt + inProgressMs;
  const cancellation = new AbortController();
  const timeout = new DOMException("totalTimeoutMs has passed", "TimeoutError");
  const stopTimer = startTimer(totalTimeoutMs, () => cancellation.abort(timeout));
  const stopListening = signal && onAbort(signal, () => cancellation.abort(signal.reason));
  try {
    for (let waitMs = MIN_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      const hasEnded = clock.now() >= endsAt;
      // So that a request that cannot have a slot in time fails immediately, and reports when a slot is expected.
      const remainingMs = Math.max(1, startedAt + totalTimeoutMs - clock.now());
      const limit = ownTimeoutMs === undefined ? {} : { totalTimeoutMs: remainingMs };
      const { found, isFinal } = await step({ ...requestOptions, ...limit, signal: cancellation.signal });
      if (isFinal || hasEnded) return found;
      const searchedAt = clock.now();
      // If the client is closed, the next step rejects.
      await waitUntil(clock, Math.min(searchedAt + waitMs, endsAt), [cancellation.signal, closed]);
      cancellation.signal.throwIfAborted();
    }
  } catch (error) {
    const isOutOfTime = error instanceof TimeoutError && error.clock === "totalTimeoutMs" && !error.retryAfterMs;
    if (error !== timeout && !(isOutOfTime && totalTimeoutMs !== Infinity)) throw error;
    const remainingMs = Math.ceil(endsAt - clock.now());
    const hint =
      remainingMs > 0 && remainingMs < Infinity
        ? `The request may still take effect for ${remainingMs} ms. Call ${method} again then.`
        : `Call ${method} again.`;
    const message = `${method}: no certain outcome within totalTimeoutMs (${totalTimeoutMs} ms). ${hint}`;
    throw new TimeoutError(message, { clock: "totalTimeoutMs" });
  } finally {
    stopTimer();
    stopListening?.();
  }
}

function waitUntil(clock: MonotonicClock, time: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (clock.now() >= time || signals.some(({ aborted }) => aborted)) return resolve();
    const finish = () => {
      for (const stop of stops) stop();
      resolve();
    };
    const stops = [clock.startTimerAt(time, finish), ...signals.map((signal) => onAbort(signal, finish))];
  });
}
