import { monotonicNowMs } from "../../shared/time/clock.js";
import { sendWithInstrumentation } from "../observe/telemetry.js";
import { performExchange } from "../transport/exchange.js";
import { type AttemptTrace, isSuccessStatus, TransportFailure, type WireResponse } from "../transport/transport.js";
import type { TokenAndSlot } from "./acquire-token-and-slot.js";
import type { AttemptEnd } from "./attempt-journal.js";
import type { Sending } from "./call.js";
import type { ClientParts } from "./client-parts.js";
import { createApiError } from "./error-response.js";
import { ErrorResponse, FalseSuccess, failureTypeForMetrics, mayHaveBeenApplied, SlotExpired } from "./failure.js";
import { choosePause, MAX_PAUSE_MS } from "./retry-policy.js";

/** Sends the request of a call once, with a slot that was granted. Rejects unless the response is a success. */
export async function sendAttempt(
  parts: ClientParts,
  sending: Sending,
  { slot, token }: TokenAndSlot,
): Promise<WireResponse> {
  const { journal, beforeSend } = sending.call.settings;
  let trace: AttemptTrace | undefined;
  try {
    if (journal) await sending.cancellation.race(journal.beforeSend(parts.serviceClock.aheadMs));
    const event = { attempt: sending.attempts + 1, clockAheadMs: parts.serviceClock.aheadMs };
    const beforeFirstByte = beforeSend && (await sending.cancellation.race(Promise.resolve(beforeSend(event))));
    trace = sending.beginAttempt(parts.serviceClock.aheadMs);
    const response = await receiveResponse(parts, sending, { slot, token }, trace, beforeFirstByte || undefined);
    reactToStatus(parts, sending, response, token);
    journal?.attemptEnded({ response, mayHaveBeenApplied: false });
    return response;
  } catch (failure) {
    sending.inFlight = false;
    if (trace) journal?.attemptEnded(endOf(sending, failure));
    throw failure;
  } finally {
    // After the pause for a 429 has begun, or the slot would be granted to a call that waits.
    if (trace?.sent) slot.endSent();
    else slot.endUnsent();
  }
}

/** Sends the request and reads the response, whatever its status. Of an error response, the status alone is enough. */
async function receiveResponse(
  { telemetry, transport, serviceClock }: ClientParts,
  sending: Sending,
  { slot, token }: TokenAndSlot,
  trace: AttemptTrace,
  beforeFirstByte: (() => void) | undefined,
): Promise<WireResponse> {
  const event = () => ({ ...sending.identity, attempt: sending.attempts });
  const durationMs = () => monotonicNowMs() - trace.startedAt;
  const { target, contentType, body } = sending.payload;
  const { journal, timeoutMs, maxResponseBytes } = sending.call.settings;
  const headers = { ...sending.call.settings.headers };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const { cancellation, request } = sending;
  const { method } = request;
  // Noted here, since the exchange wraps what is thrown, and the cause of another failure may be a Proxy of the caller's.
  let slotExpired: SlotExpired | undefined;
  const assertMaySend = () => {
    if (slot.hasExpired?.()) slotExpired = new SlotExpired();
    if (slotExpired) throw slotExpired;
    journal?.assertMaySend();
    beforeFirstByte?.();
  };
  const wire = { method, target, headers, body, timeoutMs, maxResponseBytes, cancellation, trace, assertMaySend };
  telemetry.emit("request", event);
  try {
    const response = await sendWithInstrumentation(event, headers, () => performExchange(wire, transport.send));
    telemetry.emit("response", () => ({ ...event(), status: response.status, durationMs: durationMs() }));
    return response;
  } catch (thrown) {
    const failure = slotExpired ?? thrown;
    const error = failureTypeForMetrics(failure);
    telemetry.emit("failed", () => ({ ...event(), status: trace.head?.status, error, durationMs: durationMs() }));
    return errorHeadWithoutBody(trace, failure);
  } finally {
    sending.endAttempt(trace);
    serviceClock.observe(trace);
  }
}

/**
 * The head of an error response whose body was cut off, too slow or unreadable: the retry policy needs only the status.
 * Rethrows the failure if there is no such head.
 */
function errorHeadWithoutBody({ head }: AttemptTrace, failure: unknown): WireResponse {
  const isCutOff = failure instanceof TransportFailure && failure.kind !== "canceled";
  if (isCutOff && head && !isSuccessStatus(head.status)) return { ...head, body: new Uint8Array() };
  throw failure;
}

/** Throws unless the response is a success. A token that was refused is dropped (401), and the limiter pauses after a 429. */
function reactToStatus(parts: ClientParts, sending: Sending, response: WireResponse, token: string | undefined): void {
  const { status } = response;
  if (isSuccessStatus(status)) {
    const problem = sending.request.describeFalseSuccess?.(response);
    if (problem === undefined) return;
    throw new FalseSuccess(problem);
  }
  if (status === 401 && token !== undefined) parts.tokens.invalidate(token);
  const failure = new ErrorResponse(response);
  if (status === 429) pauseAfter429(parts, sending, failure);
  throw failure;
}

/** Pauses the limiter, unless it is paused already. */
function pauseAfter429({ limiter, telemetry }: ClientParts, sending: Sending, failure: ErrorResponse): void {
  const { pausedUntil } = limiter.snapshot();
  if (pausedUntil !== null) {
    // The limiter keeps the pause of the first 429. This call reports what is left of it.
    failure.pauseMs = pausedUntil - Date.now();
    return;
  }
  const { response, retryAfterMs } = failure;
  const { retry } = sending.call.settings;
  const { pauseMs, isShortened } = choosePause(retryAfterMs, retry);
  failure.pauseMs = pauseMs;
  if (isShortened) {
    const source =
      retryAfterMs === undefined
        ? `rateLimitDelayMs: ${retry.rateLimitDelayMs}`
        : `Retry-After: ${response.headers["retry-after"]}`;
    telemetry.log("warn", `${sending.label}: the pause is limited to ${MAX_PAUSE_MS / 1_000} s (${source})`);
  }
  telemetry.emit("rateLimited", () => ({ ...sending.identity, delayMs: pauseMs, pausedUntil: Date.now() + pauseMs }));
  const { request, attempts } = sending;
  // Each call that the pause fails gets an error of its own.
  limiter.pause(pauseMs, () => createApiError({ request, attempts }, failure));
}

/** How a failed attempt ended, for the journal. */
function endOf(sending: Sending, failure: unknown): AttemptEnd {
  // The status of a false success proves nothing.
  const head = failure instanceof FalseSuccess ? undefined : sending.attemptTrace?.head;
  const { status, body } =
    failure instanceof ErrorResponse ? failure.response : { status: head?.status, body: undefined };
  return {
    response: status === undefined ? undefined : { status, body },
    // A success status proves that it was, even if the body was cut off.
    mayHaveBeenApplied: !isSuccessStatus(status ?? 0) && mayHaveBeenApplied(sending, failure),
  };
}
