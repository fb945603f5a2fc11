import { InputValidationError } from "../../shared/errors/index.js";
import type { Lifetime } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { untilAborted } from "../../shared/time/wait.js";
import { fieldOf, messageOf, toOneLine } from "../../shared/unknown.js";
import type { TokenManager } from "../auth/token-manager.js";
import { type RateLimiter, type Slot, SlotSourceFailed, SlotTooLate } from "../limiter/rate-limiter.js";
import type { Observer } from "../observe/observer.js";
import {
  type ExchangeEnd,
  exchange,
  isSuccessStatus,
  type Transport,
  type WireRequest,
  type WireResponse,
} from "../transport/exchange.js";
import { describeNetworkFailure } from "../transport/network-failure.js";
import { parseRetryAfterMs } from "./api-error.js";
import type { Call } from "./call.js";
import { failedAttempt } from "./caller-error.js";
import type { Problem } from "./failure.js";
import { isCutOff } from "./false-success.js";
import type { AttemptResult, Progress, Sending } from "./progress.js";
import type { RequestOptions } from "./request-options.js";
import type { ServiceClock } from "./service-clock.js";

/** The parts of a client that all attempts of its calls share. */
export interface ClientParts {
  readonly limiter: RateLimiter;
  readonly tokens: TokenManager;
  readonly transport: Transport;
  readonly observer: Observer;
  readonly clock: ServiceClock;
  /** Ends when the client is closed: then no further attempt begins. */
  readonly closed: Lifetime;
  /** Calls with a request on the wire, which `close()` lets finish. */
  readonly onTheWire: Set<Call>;
}

/** Sends the request of a call once, and again with a new token after a 401. */
export async function attempt(parts: ClientParts, call: Call, progress: Progress): Promise<AttemptResult> {
  const result = await sendOnce(parts, call, progress);
  const isRefused = result.failure?.retry === "with a new token";
  if (!isRefused || result.progress.hasRenewedToken || parts.closed.aborted) return result;
  const renewed = { ...result.progress, hasRenewedToken: true };
  reportRetry(parts, call, renewed, result.failure.reason);
  return await sendOnce(parts, call, renewed);
}

type BeforeSend = NonNullable<RequestOptions["beforeSend"]>;

const retryListeners = new WeakMap<BeforeSend, () => void>();

/**
 * Registers a listener for a call. The listener is called when an attempt has failed and the call will be repeated,
 * before the wait for the next attempt. A write is repeated only if the attempt was not applied.
 *
 * @param beforeSend The `beforeSend` of the call, which identifies the call. There is no option for the listener,
 * because only the outbox needs it.
 */
export const onRetry = (beforeSend: BeforeSend, listener: () => void): void =>
  void retryListeners.set(beforeSend, listener);

/** Reports that the call will be retried. */
export function reportRetry({ observer }: ClientParts, call: Call, progress: Progress, reason: string): void {
  const event = { ...call.identity, attempt: progress.attempts + 1, reason };
  observer.emit("retry", () => event);
  call.observer.notify((observation) => observation.retry(event));
  const { beforeSend } = call.settings;
  if (beforeSend) retryListeners.get(beforeSend)?.();
}

async function sendOnce(parts: ClientParts, call: Call, before: Progress): Promise<AttemptResult> {
  const acquired = await acquire(parts, call, before);
  if (!("slot" in acquired)) return acquired;
  const { slot, token } = acquired;
  let { progress } = acquired;
  let sent = false;
  try {
    const clockAheadMs = parts.clock.aheadMs;
    const { beforeSend } = call.settings;
    const recheck =
      beforeSend && (await askBeforeSend(call, beforeSend, { attempt: progress.attempts + 1, clockAheadMs }));
    if (typeof recheck === "object") return failedAttempt(call, progress, recheck);
    let veto: Problem | undefined;
    const request = wireRequest(call, token, () => {
      veto = slot.hasExpired?.() ? { kind: "slot expired" } : recheck?.();
      // The transport sends nothing after an error.
      if (veto) throw new Error("not allowed to be sent");
      call.settings.onSend?.();
    });
    progress = begun(call, progress, clockAheadMs);
    const info = { ...call.identity, attempt: progress.attempts };
    parts.observer.emit("request", () => info);
    parts.onTheWire.add(call);
    sent = true;
    const end = await call.observer.attempt(info, request.headers, async () =>
      withUsableBody(await exchange(request, parts.transport.send)),
    );
    sent = end.sent;
    if (end.failure) {
      progress = { ...progress, responseHead: end.head };
      return failedAttempt(call, progress, veto ?? problemOfExchange(end, parts.clock.hasResponded));
    }
    const { response } = end;
    const { status, headers } = response;
    progress = { ...progress, responseHead: { status, headers } };
    parts.clock.observe(headers);
    const durationMs = monotonicNowMs() - progress.sending.begunAtMs;
    parts.observer.emit("response", () => ({ ...info, status, durationMs }));
    const problem = checkStatus(parts, call, response, token);
    return problem ? failedAttempt(call, progress, problem) : { progress, response };
  } catch (thrown) {
    return failedAttempt(call, progress, { kind: "exception", thrown, sent });
  } finally {
    parts.onTheWire.delete(call);
    // Ends the slot last. If it ended before the pause of a 429 had begun, a waiting call would get the slot.
    slot.end(sent);
  }
}

/**
 * How many times a call queues for a slot with a token that must still be fresh when the slot comes. The next time, the
 * call also uses a token that has expired in the queue, so that it is sent at last. A token that the service has
 * refused is never used.
 */
const MAX_FRESH_TOKEN_ROUNDS = 2;

/** The error with which a waiting call fails after the 429 of a probe, if the call has had too many 429s. */
const TOO_MANY_RATE_LIMITS = Symbol("too many 429s");

/**
 * Waits for a token, then for a slot. The token comes first, because the token request needs a slot, too, and there may
 * be only one slot. If the token expires or is refused while the call waits for its slot, the call begins another
 * round: it returns the slot, waits for a new token (one request for all waiting calls), and queues before other calls.
 * After a 401, the call also queues before other calls.
 */
async function acquire(parts: ClientParts, call: Call, before: Progress) {
  const { limiter, tokens, observer } = parts;
  const { lifetime } = call;
  const needsToken = !call.request.isTokenRequest;
  let progress = before;
  let waitedMs = 0;
  const onLongWait = observer.hasListener("waiting")
    ? (expectedMs: number, reason: "limit" | "pause") =>
        observer.emit("waiting", () => ({ ...call.identity, reason, expectedMs }))
    : undefined;
  const onFailedProbe = () => {
    progress = { ...progress, rateLimitRetries: progress.rateLimitRetries + 1 };
    return progress.rateLimitRetries > call.settings.retry.maxRateLimitRetries ? TOO_MANY_RATE_LIMITS : undefined;
  };
  for (let round = 1; ; round += 1) {
    if (lifetime.hasEnded()) return failedAttempt(call, progress, ended(lifetime));
    const priority = round === 1 && !before.hasRenewedToken ? call.priority : "token";
    if (needsToken && tokens.fresh === undefined) {
      // If the slot would come too late, no token is requested.
      const waitMs = limiter.waitMs(priority);
      const { pausedUntil } = limiter.snapshot();
      if (waitMs > Math.max(0, lifetime.remainingMs))
        return failedAttempt(call, progress, { kind: "slot too late", waitMs, pausedUntil });
      try {
        await tokens.renew(lifetime);
      } catch (error) {
        if (!lifetime.aborted) return failedAttempt(call, progress, { kind: "no token", error });
        const lastError = progress.lastError ?? tokens.lastFailure;
        return failedAttempt(call, { ...progress, lastError }, ended(lifetime));
      }
    }
    const maxWaitMs = Math.max(0, lifetime.remainingMs);
    const queuedAt = monotonicNowMs();
    let slot: Slot;
    try {
      slot = await limiter.acquire({ priority, signal: lifetime, maxWaitMs, onLongWait, onFailedProbe });
    } catch (thrown) {
      return failedAttempt(call, progress, problemOfWait(parts, call, thrown));
    }
    waitedMs += monotonicNowMs() - queuedAt;
    const token = round <= MAX_FRESH_TOKEN_ROUNDS ? tokens.fresh : tokens.last;
    if (token !== undefined || !needsToken) {
      call.observer.notify((observation) => observation.waited(waitedMs));
      return { slot, token: needsToken ? token : undefined, progress };
    }
    slot.end(false);
  }
}

const ended = ({ reason }: Lifetime): Problem => ({ kind: "end", reason, sent: false });

/** Returns why the limiter has granted no slot. */
function problemOfWait({ limiter }: ClientParts, { lifetime }: Call, thrown: unknown): Problem {
  if (thrown instanceof SlotTooLate)
    return { kind: "slot too late", waitMs: thrown.waitMs, pausedUntil: thrown.pausedUntil };
  if (thrown instanceof SlotSourceFailed)
    return { kind: "slot source failed", message: thrown.message, cause: thrown.cause };
  if (thrown === TOO_MANY_RATE_LIMITS) {
    const response = lastRateLimited.get(limiter) ?? { status: 429, headers: {}, body: new Uint8Array() };
    return { kind: "status", response, pauseMs: pauseMsOf(limiter) };
  }
  return lifetime.aborted ? ended(lifetime) : { kind: "exception", thrown, sent: false };
}

/**
 * Asks the caller's `beforeSend` whether the attempt may be sent. If it may, this returns a function to call right before the
 * first byte. It returns a problem if nothing may be sent after all.
 */
async function askBeforeSend(
  { lifetime, label }: Call,
  beforeSend: BeforeSend,
  attempt: { attempt: number; clockAheadMs: number | undefined },
): Promise<Problem | (() => Problem | undefined)> {
  try {
    const check = await untilAborted(lifetime, (async () => beforeSend(attempt))());
    return () => {
      try {
        assertSynchronous(label, check?.());
        return undefined;
      } catch (thrown) {
        return { kind: "veto", thrown };
      }
    };
  } catch (thrown) {
    return lifetime.aborted && thrown === lifetime.reason ? ended(lifetime) : { kind: "veto", thrown };
  }
}

/** Throws if `returned` is a promise: nothing can wait for it right before the first byte. */
function assertSynchronous(label: string, returned: unknown): void {
  if (typeof fieldOf(returned, "then") !== "function") return;
  Promise.resolve(returned).catch(() => {});
  throw new InputValidationError(label, [{ path: ["beforeSend"], message: "must not return an async function" }]);
}

/** The progress of a call when an attempt begins. */
function begun({ request }: Call, before: Progress, clockAheadMs: number | undefined): Progress {
  const sending: Sending = {
    sentAt: Date.now(),
    begunAtMs: monotonicNowMs(),
    clockAheadMs,
    lastRecNo: request.lastRecNo?.(),
  };
  return { ...before, attempts: before.attempts + 1, sending, responseHead: undefined };
}

function wireRequest(call: Call, token: string | undefined, beforeFirstByte: () => void): WireRequest {
  const { settings, payload, request, lifetime } = call;
  const headers = { ...settings.headers };
  if (payload.contentType !== undefined) headers["content-type"] = payload.contentType;
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  return {
    method: request.method,
    target: payload.target,
    headers,
    body: payload.body,
    timeoutMs: settings.timeoutMs,
    maxResponseBytes: settings.maxResponseBytes,
    signal: lifetime,
    beforeFirstByte,
  };
}

/**
 * Makes an error response usable although its body was cut off, too slow or unreadable: status and headers are enough.
 * A success whose body was cut off becomes a failure: if a body has no length, not every transport reports that the
 * connection broke.
 */
function withUsableBody(end: ExchangeEnd): ExchangeEnd {
  const { sent, response } = end;
  if (response) {
    const isCut = isSuccessStatus(response.status) && isCutOff(response);
    if (!isCut) return end;
    return { sent, failure: { kind: "connection", cause: new Error("the body is incomplete") }, head: response };
  }
  const { head } = end;
  return head && !isSuccessStatus(head.status) ? { sent, response: { ...head, body: new Uint8Array() } } : end;
}

function problemOfExchange(
  { sent, failure: { kind, cause }, head }: Extract<ExchangeEnd, { failure: object }>,
  hasResponded: boolean,
): Problem {
  switch (kind) {
    case "aborted":
      return { kind: "end", reason: cause, sent };
    case "timeout":
      return { kind, sent };
    case "too large":
    case "undecodable":
      return { kind, cause, sent, status: head?.status ?? 0 };
    case "exception":
      return { kind, thrown: cause, sent };
    case "connection":
      return { kind, network: describeNetworkFailure(cause) ?? unknownFailure(cause), cause, sent, hasResponded };
  }
}

const unknownFailure = (cause: unknown) => ({
  problem: "no usable response",
  detail: toOneLine(messageOf(cause)),
  advice: "",
  permanent: false,
});

/** Returns why a response is no success; `undefined` for a success. Drops the token after a 401. Pauses the limiter after a 429. */
function checkStatus(
  parts: ClientParts,
  call: Call,
  response: WireResponse,
  token: string | undefined,
): Problem | undefined {
  const { status } = response;
  if (isSuccessStatus(status)) {
    const text = call.request.describeFalseSuccess?.(response);
    return text === undefined ? undefined : { kind: "false success", status, text };
  }
  if (status === 401 && token !== undefined) parts.tokens.drop(token);
  if (status === 429) pause(parts, call, response);
  return { kind: "status", response, pauseMs: pauseMsOf(parts.limiter) };
}

/** The longest pause. Without this limit, one wrong `Retry-After` could stop all calls permanently. */
const MAX_PAUSE_MS = 3_600_000;
/** The shortest pause after a `Retry-After`. `Retry-After: 0` would use up all retries within a moment. */
const MIN_RETRY_AFTER_MS = 1_000;

/** The last 429 that began a pause, by limiter. Several clients may share a limiter. */
const lastRateLimited = new WeakMap<RateLimiter, WireResponse>();

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
  lastRateLimited.set(limiter, response);
  limiter.pause(delayMs);
}

function pauseMsOf(limiter: RateLimiter): number {
  const { pausedUntil } = limiter.snapshot();
  return pausedUntil === null ? 0 : Math.max(0, pausedUntil - Date.now());
}
