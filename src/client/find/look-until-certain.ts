import * as z from "zod";
import { TimeoutError } from "../../shared/errors/index.js";
import { nonNegativeMsSchema } from "../../shared/option.js";
import { checkMethodOptions, lazy, optionalFields } from "../../shared/schema.js";
import type { Abortable } from "../../shared/time/abort.js";
import { MonotonicClock } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";
import type { SendingTime } from "./service-time.js";

/** Options of a search for a write with unknown outcome. They apply to each of its requests unless stated otherwise. */
export interface FindOptions extends RequestOptions {
  /**
   * How long the service may still be working on the write, in ms since the write was sent. Until then, a missing
   * record proves nothing, and the search is repeated. `0` searches once; `Infinity` searches until the record is
   * found.
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

/** The parts that all searches for the outcome of a write have. */
export interface OutcomeSearch {
  /** The method that the caller knows, for messages. */
  method: string;
  options: FindOptions;
  /** Aborted when the client is closed. */
  closed: Abortable;
}

const DEFAULT_SETTLE_MS = 60_000;
/** The first pause between two looks. Each further pause is twice as long, up to `MAX_LOOK_PAUSE_MS`. */
const MIN_WAIT_MS = 1_000;
const MAX_LOOK_PAUSE_MS = 60_000;

const findOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...requestOptionsShape(), ...optionalFields({ settleMs: nonNegativeMsSchema() }) }),
);

/** A checked copy of the options: later changes to the caller's object have no effect. */
export const readFindOptions = (method: string, options: FindOptions): FindOptions =>
  checkMethodOptions(method, findOptionsSchema, options);

/**
 * Looks repeatedly: until the outcome is final, or until a look has begun at a time when the request could no longer
 * take effect. `time` is the time at which the request was sent. The clocks in responses may correct it.
 */
export async function lookUntilCertain<Found>(
  { method, closed, options }: OutcomeSearch,
  time: SendingTime,
  look: (options: RequestOptions, concludes: boolean) => Promise<{ found: Found; isFinal: boolean }>,
): Promise<Found> {
  const { settleMs = DEFAULT_SETTLE_MS, totalTimeoutMs, ...requestOptions } = options;
  const clock = new MonotonicClock();
  const startedAt = clock.now();
  const deadline = startedAt + (totalTimeoutMs ?? Infinity);
  const timeLeft = () => (totalTimeoutMs === undefined ? {} : { totalTimeoutMs: Math.max(1, deadline - clock.now()) });
  options.signal?.throwIfAborted();
  for (let waitMs = MIN_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_LOOK_PAUSE_MS)) {
    const begunAt = clock.now();
    const endsAt = () => startedAt + Math.max(0, settleMs - time.ageMs);
    const concludes = begunAt >= endsAt();
    const { found, isFinal } = await look(time.observeClock({ ...requestOptions, ...timeLeft() }), concludes);
    // A response may have shown that the request was sent later than was known.
    if (isFinal || (concludes && begunAt >= endsAt())) return found;
    const lookedAt = clock.now();
    const nextAt = Math.min(lookedAt + waitMs, Math.max(endsAt(), begunAt));
    // If the client was closed meanwhile, the next look rejects.
    const isInTime = await waitUntil(clock, Math.min(nextAt, deadline), [closed, options.signal ?? undefined]);
    options.signal?.throwIfAborted();
    if (isInTime && nextAt >= deadline) throw outOfTime(method, totalTimeoutMs, endsAt() - clock.now());
  }
}

/** Waits until a time, or until a signal aborts. Returns false if a signal has aborted. */
async function waitUntil(
  clock: MonotonicClock,
  time: number,
  signals: readonly (Abortable | undefined)[],
): Promise<boolean> {
  if (clock.now() >= time) return !signals.some((signal) => signal?.aborted);
  // This timer also moves the clock forward if a test mocks the timers but not the clock.
  const isTime = new AbortController();
  const stop = clock.startTimerAt(time, () => isTime.abort());
  await sleep(Infinity, isTime.signal, ...signals);
  stop();
  return !signals.some((signal) => signal?.aborted);
}

function outOfTime(method: string, totalTimeoutMs: number | undefined, remainingMs: number): TimeoutError {
  const hint =
    remainingMs > 0 && remainingMs < Infinity
      ? `The request may still take effect for ${Math.ceil(remainingMs)} ms. Call ${method} again then.`
      : `Call ${method} again.`;
  const message = `${method}: no certain outcome within totalTimeoutMs (${totalTimeoutMs} ms). ${hint}`;
  return new TimeoutError(message, { clock: "totalTimeoutMs" });
}
