import { redact, redactData } from "../errors/redaction/redact.js";
import { monotonicNowMs } from "../time/timer.js";
import type { AcquireDeps, Grant } from "./acquire-slot.js";
import type { Call } from "./call.js";
import { ErrorResponse, failureType, isSuccess } from "./failure.js";
import { apiError } from "./response/api-error.js";
import { isPauseCapped, LONGEST_PAUSE_MS, pauseMs, retryAfterMs } from "./retry-policy.js";
import { sendInstrumented } from "./telemetry/sending.js";
import { type AttemptTrace, type Transport, TransportFailure, type WireResponse } from "./transport/transport.js";

/** What an attempt needs. */
export interface AttemptDeps extends AcquireDeps {
  readonly transport: Transport;
  readonly maxResponseBytes: number;
}

/** Sends the request of a call once, with a slot that was granted. Rejects unless the status is a success. */
export async function attempt(deps: AttemptDeps, call: Call, { slot, token }: Grant): Promise<WireResponse> {
  const trace = call.beginAttempt();
  call.inFlight = true;
  try {
    let response: WireResponse;
    try {
      response = await send(deps, call, token, trace);
      const { status } = response;
      deps.telemetry.emit("response", () => ({
        ...attemptOf(call),
        status,
        durationMs: monotonicNowMs() - trace.startedAt,
      }));
    } catch (failure) {
      deps.telemetry.emit("failed", () => ({
        ...attemptOf(call),
        status: trace.head?.status,
        error: failureType(failure),
        durationMs: monotonicNowMs() - trace.startedAt,
      }));
      response = headWithoutBody(trace, failure);
    } finally {
      call.endAttempt(trace);
    }
    if (isSuccess(response.status)) return response;
    if (response.status === 401 && token !== undefined) deps.tokens.invalidate(token);
    throw response.status === 429 ? pauseAfter429(deps, call, response) : new ErrorResponse(response);
  } catch (failure) {
    call.inFlight = false;
    throw failure;
  } finally {
    if (trace.sent) slot.release();
    else slot.returnUnused();
  }
}

function send(
  { telemetry, transport, maxResponseBytes }: AttemptDeps,
  call: Call,
  token: string | undefined,
  trace: AttemptTrace,
): Promise<WireResponse> {
  const { method } = call.request;
  const { target, contentType, body } = call.payload;
  const { timeoutMs } = call.settings;
  telemetry.emit("request", () => attemptOf(call));
  const headers = { ...call.settings.headers };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const { cancellation } = call;
  return sendInstrumented(
    () => attemptOf(call),
    headers,
    () => transport.send({ method, target, headers, body, timeoutMs, maxResponseBytes, cancellation, trace }),
  );
}

const attemptOf = (call: Call) => ({ ...call.identity, attempt: call.attempts });

/**
 * The head of an error response whose body was cut off, too slow or unreadable: the retry policy needs only the status.
 * Rethrows the failure if there is no such head.
 */
function headWithoutBody({ head }: AttemptTrace, failure: unknown): WireResponse {
  const isCutOff = failure instanceof TransportFailure && failure.kind !== "cancelled";
  if (isCutOff && head && !isSuccess(head.status)) return { ...head, body: Buffer.alloc(0) };
  throw failure;
}

/** Pauses the limiter after a 429, unless it is paused already. Returns the failure of this attempt. */
function pauseAfter429({ limiter, telemetry }: AttemptDeps, call: Call, response: WireResponse): ErrorResponse {
  const requestedMs = retryAfterMs(response.headers, Date.now());
  const { retry } = call.settings;
  const delayMs = pauseMs(requestedMs, retry);
  const { pausedUntil } = limiter.snapshot();
  if (pausedUntil !== null)
    return new ErrorResponse(response, requestedMs === undefined ? pausedUntil - Date.now() : delayMs);
  if (isPauseCapped(requestedMs, retry)) {
    const source =
      requestedMs === undefined
        ? `rateLimitDelayMs: ${retry.rateLimitDelayMs}`
        : `Retry-After: ${response.headers["retry-after"]}`;
    telemetry.log("warn", `${call.label}: the pause is limited to ${LONGEST_PAUSE_MS / 1_000} s (${source})`);
  }
  telemetry.emit("rateLimited", () => ({ ...call.identity, delayMs, pausedUntil: Date.now() + delayMs }));
  limiter.pause(delayMs, pauseError(call, response, delayMs));
  return new ErrorResponse(response, delayMs);
}

/**
 * Creates the error of the 429 that began a pause, since each call that the pause fails gets an object of its own. It is
 * redacted now: other clients may share the limiter, and this client forgets its secrets when it closes.
 */
function pauseError({ request, attempts }: Call, response: WireResponse, delayMs: number): () => unknown {
  const { method, path, isTokenRequest } = request;
  const sent = { request: { method, path: redact(path), isTokenRequest }, attempts };
  const { status, headers, body } = response;
  const redacted = { status, headers: redactData(headers), body: Buffer.from(redact(body.toString())) };
  return () => apiError(sent, new ErrorResponse(redacted, delayMs));
}
