import { InputValidationError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { untilAborted } from "../../shared/time/wait.js";
import { fieldOf } from "../../shared/unknown.js";
import type { TokenManager } from "../auth/token-manager.js";
import { type RateLimiter, type Slot, SlotTooLate } from "../limiter/rate-limiter.js";
import type { Observer } from "../observe/observer.js";
import {
  Exchange,
  ExchangeFailure,
  isSuccessStatus,
  type Transport,
  type WireRequest,
  type WireResponse,
} from "../transport/exchange.js";
import { parseRetryAfterMs } from "./api-error.js";
import type { Call } from "./call.js";
import { Failure, failureOfExchange, failureOfFalseSuccess, failureOfStatus, Refusal, SlotExpired } from "./failure.js";
import { isCutOff } from "./false-success.js";
import { notifyRetry } from "./on-retry.js";
import { takeRateLimitRetry } from "./retry.js";
import type { ServiceClock } from "./service-clock.js";

/** What the attempts of a client's calls share. */
export interface ClientParts {
  readonly limiter: RateLimiter;
  readonly tokens: TokenManager;
  readonly transport: Transport;
  readonly observer: Observer;
  readonly clock: ServiceClock;
  /** Whether the client has received a response. */
  hasResponded: boolean;
}

/**
 * Sends the request of a call once, and again with a new token after a 401. Rejects with a `Failure` if an attempt has failed;
 * with what the wait for a token or a slot rejects with, if none was begun.
 */
export async function attempt(parts: ClientParts, call: Call): Promise<WireResponse> {
  try {
    return await sendOnce(parts, call);
  } catch (failure) {
    const isRefused = failure instanceof Failure && failure.retry === "with a new token";
    if (!isRefused || call.hasRenewedToken || call.isLastAttempt) throw failure;
    call.hasRenewedToken = true;
    reportRetry(parts, call, failure.reason);
    return await sendOnce(parts, call);
  }
}

/** The call will be retried. */
export function reportRetry({ observer }: ClientParts, call: Call, reason: string): void {
  const event = { ...call.identity, attempt: call.attempts + 1, reason };
  observer.emit("retry", () => event);
  call.observer.notify((observation) => observation.retry(event));
  notifyRetry(call.settings.beforeSend);
}

async function sendOnce(parts: ClientParts, call: Call): Promise<WireResponse> {
  const { slot, token } = await acquire(parts, call);
  let exchange: Exchange | undefined;
  try {
    const request = await prepare(parts, call, slot, token);
    const startedAt = monotonicNowMs();
    const info = { ...call.identity, attempt: call.attempts };
    parts.observer.emit("request", () => info);
    const response = await call.observer.attempt(info, request.headers, () => {
      exchange = new Exchange(request, parts.transport.send);
      return exchange.result
        .then(assertNotCutOff)
        .catch((thrown: unknown) => responseWithoutBody(exchange?.head, thrown));
    });
    parts.hasResponded = true;
    parts.clock.observe(response.headers);
    const durationMs = monotonicNowMs() - startedAt;
    parts.observer.emit("response", () => ({ ...info, status: response.status, durationMs }));
    call.head = { status: response.status, headers: response.headers };
    checkStatus(parts, call, response, token);
    return response;
  } catch (thrown) {
    call.head ??= exchange?.head;
    const failure =
      exchange && !(thrown instanceof Failure) ? failureOfExchange(call, exchange, thrown, parts.hasResponded) : thrown;
    if (!(failure instanceof Failure)) throw failure;
    if (failure.applied === "unknown" && call.isWrite) call.applied = "unknown";
    // The end of the call is no failure of its own.
    if (failure.error !== call.lifetime.reason) {
      call.lastError = failure.error;
      if (call.request.isTokenRequest) parts.tokens.lastFailure = failure.error;
    }
    throw failure;
  } finally {
    call.isOnTheWire = false;
    // The pause after a 429 has begun by now, or the slot would be granted to a waiting call.
    slot.end(exchange?.sent ?? false);
  }
}

/** From this round on, an expired token is used, too: two have expired while the call was in the queue. One that was refused is not. */
const ANY_TOKEN_FROM_ROUND = 3;

/**
 * Waits for a token, then for a slot. In this order, because the token request needs a slot too, and there may be only
 * one. If the token expires in the queue, or is refused there, the slot is returned, a new token is requested (one for all
 * calls that wait), and the call queues before others, as does the repetition after a 401.
 */
async function acquire(
  { limiter, tokens, observer }: ClientParts,
  call: Call,
): Promise<{ slot: Slot; token?: string | undefined }> {
  const { lifetime } = call;
  const needsToken = !call.request.isTokenRequest;
  let waitedMs = 0;
  const onLongWait = observer.hears("waiting")
    ? (expectedMs: number, reason: "limit" | "pause") =>
        observer.emit("waiting", () => ({ ...call.identity, reason, expectedMs }))
    : undefined;
  const onFailedProbe = (response: WireResponse) =>
    takeRateLimitRetry(call) ? undefined : failureOfStatus(call, response, pauseMsOf(limiter));
  for (let round = 1; ; round += 1) {
    lifetime.throwIfAborted();
    const priority = round === 1 && !call.hasRenewedToken ? call.priority : "token";
    if (needsToken && tokens.fresh === undefined) {
      // No token request if the slot would come too late.
      const waitMs = limiter.waitMs(priority);
      if (waitMs > lifetime.remainingMs) throw new SlotTooLate(waitMs, limiter.snapshot().pausedUntil);
      await tokens.renew(lifetime).catch((error: unknown) => {
        if (lifetime.aborted) call.lastError ??= tokens.lastFailure;
        throw error;
      });
    }
    const maxWaitMs = lifetime.remainingMs;
    const queuedAt = monotonicNowMs();
    const slot = await limiter.acquire({ priority, signal: lifetime, maxWaitMs, onLongWait, onFailedProbe });
    waitedMs += monotonicNowMs() - queuedAt;
    const token = round < ANY_TOKEN_FROM_ROUND ? tokens.fresh : tokens.last;
    if (token !== undefined || !needsToken) {
      call.observer.notify((observation) => observation.waited(waitedMs));
      return needsToken ? { slot, token } : { slot };
    }
    slot.end(false);
  }
}

/** Begins an attempt: the caller's `beforeSend`, then the request as it is sent. */
async function prepare(
  { clock }: ClientParts,
  call: Call,
  slot: Slot,
  token: string | undefined,
): Promise<WireRequest> {
  const { settings, payload, request, lifetime } = call;
  const { timeoutMs, maxResponseBytes } = settings;
  const clockAheadMs = clock.aheadMs;
  let check: (() => void) | undefined;
  if (settings.beforeSend) {
    const { beforeSend } = settings;
    const begun = (async () => beforeSend({ attempt: call.attempts + 1, clockAheadMs }))();
    check = (await untilAborted(lifetime, begun.catch(failBeforeSend))) || undefined;
  }
  const headers = { ...settings.headers };
  if (payload.contentType !== undefined) headers["content-type"] = payload.contentType;
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  call.attempts += 1;
  call.head = undefined;
  call.isOnTheWire = true;
  call.clockAheadMs = clockAheadMs;
  call.lastRecNo = request.lastRecNo?.();
  call.sentAt = Date.now();
  call.begunAtMs = monotonicNowMs();
  return {
    method: request.method,
    target: payload.target,
    headers,
    body: payload.body,
    timeoutMs,
    maxResponseBytes,
    signal: lifetime,
    beforeFirstByte() {
      if (slot.hasExpired?.()) throw new Refusal(new SlotExpired());
      try {
        assertSynchronous(call, check?.());
      } catch (thrown) {
        throw new Refusal(thrown);
      }
      settings.onSend?.();
    },
  };
}

/** Nobody could wait for a promise before the first byte. */
function assertSynchronous({ label }: Call, returned: unknown): void {
  if (typeof fieldOf(returned, "then") !== "function") return;
  Promise.resolve(returned).catch(() => {});
  throw new InputValidationError(label, [{ path: ["beforeSend"], message: "must not return an async function" }]);
}

function failBeforeSend(thrown: unknown): never {
  throw new Failure(thrown, "no", "never", "beforeSend");
}

/** Not every transport reports that the connection broke before the end of a body without a length. */
function assertNotCutOff(response: WireResponse): WireResponse {
  if (isSuccessStatus(response.status) && isCutOff(response))
    throw new ExchangeFailure("connection", new Error("the body is incomplete"));
  return response;
}

/** The head of an error response is enough if its body was cut off, too slow or unreadable. Otherwise rethrows. */
function responseWithoutBody(head: Exchange["head"], thrown: unknown): WireResponse {
  if (head && !isSuccessStatus(head.status)) return { ...head, body: new Uint8Array() };
  throw thrown;
}

/** Throws unless the response is a success. A token that was refused is dropped (401), and the limiter pauses after a 429. */
function checkStatus(parts: ClientParts, call: Call, response: WireResponse, token: string | undefined): void {
  const { status } = response;
  if (isSuccessStatus(status)) {
    const problem = call.request.describeFalseSuccess?.(response);
    if (problem !== undefined) throw failureOfFalseSuccess(call, response, problem);
    return;
  }
  if (status === 401 && token !== undefined) parts.tokens.drop(token);
  if (status === 429) pause(parts, call, response);
  throw failureOfStatus(call, response, pauseMsOf(parts.limiter));
}

/** After one wrong response, a longer pause would stop all calls permanently. */
const MAX_PAUSE_MS = 3_600_000;
/** `Retry-After: 0` would use up all retries within a moment. */
const MIN_RETRY_AFTER_MS = 1_000;

/** Pauses the limiter. During a pause this has no effect. */
function pause({ limiter, observer }: ClientParts, call: Call, response: WireResponse): void {
  if (pauseMsOf(limiter) > 0) return;
  const [shortest, longest] = call.settings.retry.rateLimitDelayMs;
  const retryAfterMs = parseRetryAfterMs(response.headers);
  const wanted =
    retryAfterMs === undefined
      ? shortest + Math.random() * (Math.min(longest, MAX_PAUSE_MS) - Math.min(shortest, MAX_PAUSE_MS))
      : Math.max(retryAfterMs, MIN_RETRY_AFTER_MS);
  const delayMs = Math.round(Math.min(wanted, MAX_PAUSE_MS));
  if (wanted > MAX_PAUSE_MS) observer.warn(`${call.label}: the pause is limited to ${MAX_PAUSE_MS / 1_000} s`);
  const event = { ...call.identity, delayMs, pausedUntil: Date.now() + delayMs };
  observer.emit("rateLimited", () => event);
  call.observer.notify((observation) => observation.paused(event));
  limiter.pause(delayMs, response);
}

function pauseMsOf(limiter: RateLimiter): number {
  const { pausedUntil } = limiter.snapshot();
  return pausedUntil === null ? 0 : Math.max(0, pausedUntil - Date.now());
}
