import { redactData } from "../../shared/errors/redaction/redact.js";
import { CallCancellation, type Cancellation } from "../../shared/time/cancellation.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { fieldOf } from "../../shared/unknown.js";
import { createTokenManager } from "../auth/token-manager.js";
import type { StoredToken, TokenStore } from "../auth/token-store.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import { ClientState } from "../observe/events.js";
import { LongWaitReporter } from "../observe/long-waits.js";
import type { Telemetry } from "../observe/telemetry.js";
import type { Transport } from "../transport/transport.js";
import { ActiveRequests } from "./active-requests.js";
import { attemptJournalSymbol } from "./attempt-journal.js";
import { Call, type CallRequest, type CallSettings, type ResponseValidation, Sending } from "./call.js";
import { createCallerError } from "./caller-error.js";
import type { ClientParts } from "./client-parts.js";
import { CallFailure } from "./failure.js";
import { encodeRequest } from "./payload.js";
import { checkRequestOptions, lowerCaseHeaderNames, type RequestOptions } from "./request-options.js";
import { mergeRetryOptions } from "./retry-policy.js";
import { ServiceClock } from "./service-clock.js";
import { type ClientCredentials, createTokenRequest } from "./token-request.js";
import { sendWithRetries } from "./with-retries.js";

export interface PipelineConfig {
  /** Without a slash at its end. */
  baseUrl: string;
  transport: Transport;
  limiter: RateLimiter;
  telemetry: Telemetry;
  validation: ResponseValidation;
  totalTimeoutMs: number;
  /** The settings of a call that sets none. */
  settings: CallSettings;
  tokenStore: TokenStore;
  /** Names the service and the client ID. */
  account: string;
  /** For each token request: the secret may change. */
  readCredentials(cancellation: Cancellation): Promise<ClientCredentials>;
}

/** The interface of the core for what takes several requests: a list, or a search in one. */
export interface PartSender {
  /**
   * Sends one of them. It may be a page that is read ahead, before a caller waits for it, so it rejects with a `CallFailure`.
   * As a call of its own it has options, which were validated, and `signal` aborts it too. In a series, both are the series'.
   */
  sendPart<T>(request: CallRequest<T>, options?: RequestOptions, signal?: AbortSignal): Promise<T>;
  /** Runs a callback of the caller's; an error in it is logged. */
  guard(what: string, run: () => unknown): void;
  /** How much the rate limit allows. */
  readonly limiter: Pick<RateLimiter, "snapshot" | "reserved">;
}

/** The interface of the core for resources and paging. */
export interface Sender extends PartSender {
  /** Sends a request and returns the result of its reader. Also rejects with the errors of `buildRequest`. */
  send<T>(buildRequest: () => CallRequest<T>, options?: RequestOptions): Promise<T>;
  /**
   * Sends several requests, one after another, as one call of the caller's, with options that were validated: one deadline,
   * one signal, one end. So `sendPart` of the series takes no options. `list` is what the call is named after.
   */
  sendSeries<T>(
    list: { method: string; path: string },
    options: RequestOptions,
    run: (series: PartSender) => Promise<T>,
  ): Promise<T>;
  warn(message: string): void;
  /** Aborted when the client is closed. */
  readonly closed: AbortSignal;
}

export interface Pipeline extends Sender {
  /** Rejects waiting calls, lets calls in flight finish, then closes the connections. */
  close(): Promise<void>;
}

/** Who receives the failure of a call: its one caller an error, all others a `CallFailure`, for errors of their own. */
type Audience = "caller" | "anyone";

/**
 * Every request takes these steps: it is encoded, sent (each attempt: token, slot, transport) until it succeeds or the retry
 * policy stops, then its response is read, or its failure becomes an error for the caller.
 *
 *   inCall                      the call begins and ends: events, `onResponse`, the error for the caller
 *     sendRequest               one request, and the reader of its response
 *       sendWithRetries         attempts, and the back-off between them
 *         acquireTokenAndSlot   waits for what an attempt needs
 *         sendAttempt           one attempt, and what follows from its status
 *           performExchange     one HTTP request, within `timeoutMs`
 */
export function createPipeline(config: PipelineConfig): Pipeline {
  const { baseUrl, transport, limiter, telemetry, validation, settings } = config;
  const active = new ActiveRequests();
  let closing: Promise<void> | undefined;
  // Created at first use: Workers forbid it at module level, where clients are created.
  let closedController: AbortController | undefined;
  const parts: ClientParts = {
    limiter,
    transport,
    telemetry,
    waits: new LongWaitReporter(reportWait),
    state: new ClientState(baseUrl, limiter, () => active.isClosed),
    serviceClock: new ServiceClock(),
    tokens: createTokenManager({
      store: config.tokenStore,
      account: config.account,
      request: requestToken,
      errorOf: createCallerError,
      warn: telemetry.warn,
    }),
  };

  const pipeline: Pipeline = {
    send(buildRequest, options) {
      try {
        const request = buildRequest();
        const label = `${request.method} ${request.path}`;
        const checked = options === undefined ? options : checkRequestOptions(label, options);
        return sendInCall(request, "caller", checked);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    sendPart: (request, options, signal) => sendInCall(request, "anyone", options, signal),
    sendSeries: (list, options, run) =>
      inCall(createCall(list, options), "caller", (call) => {
        return run({ sendPart: (request) => sendRequest(call, request), guard: pipeline.guard, limiter });
      }),
    guard: (what, callback) => telemetry.guard(what, callback),
    warn: telemetry.warn,
    limiter,
    get closed() {
      closedController ??= new AbortController();
      if (active.isClosed) closedController.abort();
      return closedController.signal;
    },
    close() {
      closing ??= active.close().then(() => transport.close());
      closedController?.abort();
      return closing;
    },
  };
  return pipeline;

  function sendInCall<T>(
    request: CallRequest<T>,
    failsFor: Audience,
    options?: RequestOptions,
    signal?: AbortSignal,
  ): Promise<T> {
    // No call starts if the request cannot be encoded.
    const payload = encodeRequest(request);
    return inCall(createCall(request, options, signal), failsFor, (call) => sendRequest(call, request, payload));
  }

  function createCall(target: Call["target"], options?: RequestOptions, iteration?: AbortSignal): Call {
    const totalTimeoutMs = options?.totalTimeoutMs ?? config.totalTimeoutMs;
    const cancellation = new CallCancellation([options?.signal, iteration], totalTimeoutMs);
    return new Call(target, options ? mergeSettings(options) : settings, cancellation);
  }

  function mergeSettings(options: RequestOptions): CallSettings {
    const { timeoutMs = settings.timeoutMs, retry, headers, priority, onResponse } = options;
    return {
      timeoutMs,
      maxResponseBytes: settings.maxResponseBytes,
      retry: mergeRetryOptions(settings.retry, retry),
      headers: headers ? { ...settings.headers, ...lowerCaseHeaderNames(headers) } : settings.headers,
      priority,
      onResponse,
      beforeSend: options.beforeSend,
      journal: options[attemptJournalSymbol],
    };
  }

  /** The token request is a call like any other, on behalf of all calls that wait for the token. */
  async function requestToken(cancellation: Cancellation): Promise<StoredToken> {
    const request = createTokenRequest(await config.readCredentials(cancellation));
    const token = await inCall(new Call(request, settings, cancellation), "anyone", (call) =>
      sendRequest(call, request),
    );
    telemetry.emit("token", () => ({ expiresAt: token.expiresAt }));
    return token;
  }

  /** Runs what a call does, and reports its start and its end. */
  function inCall<T>(call: Call, failsFor: Audience, run: (call: Call) => Promise<T>): Promise<T> {
    const { method, path } = call.target;
    telemetry.emit("start", () => ({ call: call.id, method, path, url: baseUrl + path }));
    return run(call).then(
      (result) => {
        end(call, undefined);
        return result;
      },
      (thrown) => {
        const error = createCallerError(thrown);
        end(call, error);
        throw failsFor === "caller" ? error : thrown;
      },
    );
  }

  /** Sends and reads. Rejects with a `CallFailure`, from which each caller who waits creates an error. */
  async function sendRequest<T>(call: Call, request: CallRequest<T>, payload = encodeRequest(request)): Promise<T> {
    const sending = new Sending(call, request, payload);
    active.add(sending);
    try {
      const response = await sendWithRetries(parts, sending);
      return await request.read({ response, sending, validation });
    } catch (thrown) {
      throw thrown instanceof CallFailure ? thrown : new CallFailure(sending, thrown);
    } finally {
      active.delete(sending);
    }
  }

  function reportWait({ identity, waitingFor }: Sending, waitedMs: number, expectedMs: number): void {
    telemetry.emit("waiting", () => {
      const { pausedUntil } = limiter.snapshot();
      const restMs = Math.max(expectedMs, pausedUntil === null ? 0 : pausedUntil - Date.now());
      const isExpected = waitingFor === "slot" && restMs > 0 && restMs < Infinity;
      const reason = waitingFor === "token" ? "token" : pausedUntil === null ? "limit" : "pause";
      return { ...identity, reason, waitedMs, expectedMs: isExpected ? restMs : undefined };
    });
  }

  function end(call: Call, error: unknown): void {
    const { target, attempts, lastSent } = call;
    const { onResponse } = call.settings;
    call.cancellation.dispose();
    const head = lastSent?.attemptTrace?.head;
    const durationMs = monotonicNowMs() - call.startedAtMs;
    // Without a spread, which would take 10 µs in every call (bench: overhead).
    telemetry.end({
      call: call.id,
      method: target.method,
      path: target.path,
      startedAt: call.startedAtEpochMs,
      durationMs,
      attempts,
      status: head?.status,
      error: error === undefined ? undefined : String(fieldOf(error, "name") || typeof error),
    });
    if (!onResponse || !head) return;
    const { method, path } = lastSent.request;
    const response = { ...head, method, path, attempts, durationMs };
    telemetry.guard("onResponse", () => onResponse(redactData(response)));
  }
}
