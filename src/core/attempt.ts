import { RateLimitError } from "../errors/index.js";
import { monotonicNowMs } from "../time/clock.js";
import type { AcquireSlotDeps, SlotGrant } from "./acquire-slot.js";
import type { Call } from "./call.js";
import { ErrorResponse, FalseSuccess, failureTypeForMetrics } from "./failure.js";
import { createApiError } from "./response/api-error.js";
import { choosePauseMs, isPauseShortened, MAX_PAUSE_MS, parseRetryAfterMs } from "./retry-policy.js";
import type { ServiceClock } from "./service-clock.js";
import { sendWithInstrumentation } from "./telemetry/sending.js";
import {
  type AttemptTrace,
  isSuccessStatus,
  type Transport,
  TransportFailure,
  type WireResponse,
} from "./transport/transport.js";

/** What an attempt needs. */
export interface AttemptDeps extends AcquireSlotDeps {
  readonly transport: Transport;
  readonly serviceClock: ServiceClock;
  readonly maxResponseBytes: number;
}

/** Sends the request of a call once, with a slot that was granted. Rejects unless the status is a success. */
export async function sendAttempt(deps: AttemptDeps, call: Call, { slot, token }: SlotGrant): Promise<WireResponse> {
  const trace = call.beginAttempt(deps.serviceClock.offset);
  call.inFlight = true;
  try {
    let response: WireResponse;
    try {
      response = await sendRequest(deps, call, token, trace);
      const { status } = response;
      deps.telemetry.emit("response", () => ({
        ...attemptEventFields(call),
        status,
        durationMs: monotonicNowMs() - trace.startedAt,
      }));
    } catch (failure) {
      deps.telemetry.emit("failed", () => ({
        ...attemptEventFields(call),
        status: trace.head?.status,
        error: failureTypeForMetrics(failure),
        durationMs: monotonicNowMs() - trace.startedAt,
      }));
      response = errorHeadWithoutBody(trace, failure);
    } finally {
      call.endAttempt(trace);
      deps.serviceClock.observe(trace);
    }
    if (isSuccessStatus(response.status)) {
      const problem = call.request.describeFalseSuccess?.(response);
      if (problem === undefined) return response;
      throw new FalseSuccess(problem);
    }
    if (response.status === 401 && token !== undefined) deps.tokens.invalidate(token);
    throw response.status === 429 ? pauseAfter429(deps, call, response) : new ErrorResponse(response);
  } catch (failure) {
    call.inFlight = false;
    throw failure;
  } finally {
    if (trace.sent) slot.endSent();
    else slot.endUnsent();
  }
}

function sendRequest(
  { telemetry, transport, maxResponseBytes }: AttemptDeps,
  call: Call,
  token: string | undefined,
  trace: AttemptTrace,
): Promise<WireResponse> {
  const { method } = call.request;
  const { target, contentType, body } = call.payload;
  const { timeoutMs } = call.settings;
  telemetry.emit("request", () => attemptEventFields(call));
  const headers = { ...call.settings.headers };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const { cancellation } = call;
  const { journal } = call.settings;
  const request = { method, target, headers, body, timeoutMs, maxResponseBytes, cancellation, trace };
  return sendWithInstrumentation(
    () => attemptEventFields(call),
    headers,
    () => transport.send(journal ? { ...request, assertMaySend: () => journal.assertMaySend() } : request),
  );
}

const attemptEventFields = (call: Call) => ({ ...call.identity, attempt: call.attempts });

/**
 * The head of an error response whose body was cut off, too slow or unreadable: the retry policy needs only the status.
 * Rethrows the failure if there is no such head.
 */
function errorHeadWithoutBody({ head }: AttemptTrace, failure: unknown): WireResponse {
  const isCutOff = failure instanceof TransportFailure && failure.kind !== "cancelled";
  if (isCutOff && head && !isSuccessStatus(head.status)) return { ...head, body: new Uint8Array() };
  throw failure;
}

/** Pauses the limiter after a 429, unless it is paused already. Returns the failure of this attempt. */
function pauseAfter429({ limiter, telemetry }: AttemptDeps, call: Call, response: WireResponse): ErrorResponse {
  const requestedMs = parseRetryAfterMs(response.headers, Date.now());
  const { retry } = call.settings;
  const delayMs = choosePauseMs(requestedMs, retry);
  const { pausedUntil } = limiter.snapshot();
  if (pausedUntil !== null)
    return new ErrorResponse(response, requestedMs === undefined ? pausedUntil - Date.now() : delayMs);
  if (isPauseShortened(requestedMs, retry)) {
    const source =
      requestedMs === undefined
        ? `rateLimitDelayMs: ${retry.rateLimitDelayMs}`
        : `Retry-After: ${response.headers["retry-after"]}`;
    telemetry.log("warn", `${call.label}: the pause is limited to ${MAX_PAUSE_MS / 1_000} s (${source})`);
  }
  telemetry.emit("rateLimited", () => ({ ...call.identity, delayMs, pausedUntil: Date.now() + delayMs }));
  const failure = new ErrorResponse(response, delayMs);
  limiter.pause(delayMs, createPauseErrorFactory(call, failure));
  return failure;
}

/**
 * Creates the error of the 429 that began a pause, since each call that the pause fails gets an object of its own.
 */
function createPauseErrorFactory(call: Call, failure: ErrorResponse): () => unknown {
  const { status, code, serviceMessage: message, method, path, headers, attempts } = createApiError(call, failure);
  const init = { status, code, message, method, path, headers, attempts, retryAfterMs: failure.waitMs };
  return () => new RateLimitError(init);
}
