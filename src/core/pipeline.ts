import type { TokenManager } from "../auth/token-manager.js";
import { redactData } from "../errors/redaction/redact.js";
import { fieldOf } from "../errors/unknown-value.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import { CallCancellation, type Cancellation } from "../time/cancellation.js";
import { monotonicNowMs, startTimer } from "../time/clock.js";
import type { AttemptDeps } from "./attempt.js";
import { Call, type CallRequest, type CallSettings, type ValidationMode } from "./call.js";
import { FailedCall } from "./failure.js";
import { ATTEMPT_JOURNAL } from "./request/attempt-journal.js";
import { checkRequestOptions, lowerCaseHeaderNames, type RequestOptions } from "./request/options.js";
import { encodeRequest } from "./request/payload.js";
import { createCallerError } from "./response/caller-error.js";
import { mergeRetryOptions } from "./retry-policy.js";
import { ServiceClock } from "./service-clock.js";
import { ClientState } from "./telemetry/client-state.js";
import { LongWaitReporter } from "./telemetry/long-waits.js";
import type { Telemetry } from "./telemetry/telemetry.js";
import type { Transport } from "./transport/transport.js";
import { sendWithRetries } from "./with-retries.js";

export interface PipelineConfig extends CallSettings {
  /** Without a slash at its end. */
  baseUrl: string;
  transport: Transport;
  limiter: RateLimiter;
  telemetry: Telemetry;
  validation: ValidationMode;
  maxResponseBytes: number;
  totalTimeoutMs: number;
  /** The token manager sends its requests through this pipeline. */
  createTokenManager(
    sendTokenRequest: <T>(request: CallRequest<T>, cancellation: Cancellation) => Promise<T>,
  ): TokenManager;
}

/** The interface of the core for resources and paging. */
export interface Sender {
  /** Sends a request and returns the result of its reader. Also rejects with the errors of `buildRequest`. */
  send<T>(buildRequest: () => CallRequest<T>, options?: RequestOptions): Promise<T>;
  /**
   * Sends the request for a page, with options that were validated. It may be read ahead, before a caller waits for it, so
   * it rejects with a `FailedCall`. `signal` aborts it too.
   */
  sendPage<T>(request: CallRequest<T>, options?: RequestOptions, signal?: AbortSignal): Promise<T>;
  /** Runs a callback of the caller's; an error in it is logged. */
  guard(what: string, run: () => unknown): void;
  /** How much the rate limit allows. */
  readonly limiter: Pick<RateLimiter, "snapshot" | "reserved">;
  /** Aborted when the client is closed. */
  readonly closed: AbortSignal;
}

export interface Pipeline extends Sender {
  /** Rejects waiting calls, lets calls in flight finish, then closes the connections. */
  close(): Promise<void>;
}

/** How often `close()` looks for validations that do not settle. */
const STALLED_VALIDATION_INTERVAL_MS = 1_000;

const NO_REQUEST_OPTIONS: RequestOptions = {};

/**
 * Every request takes these steps: it is encoded, sent (each attempt: token, slot, transport) until it succeeds or the retry
 * policy stops, then its response is read, or its failure becomes an error for the caller.
 */
export function createPipeline(config: PipelineConfig): Pipeline {
  const calls = new Set<Call>();
  let resolveIdle: (() => void) | undefined;
  let closing: Promise<void> | undefined;
  // Created at first use: Workers forbid it at module level, where clients are created.
  let closedController: AbortController | undefined;
  const deps: AttemptDeps = {
    ...config,
    waits: new LongWaitReporter(reportWait),
    client: new ClientState(config.baseUrl, config.limiter, () => closing !== undefined),
    serviceClock: new ServiceClock(),
    tokens: config.createTokenManager((request, cancellation) =>
      runCall(request, new Call(request, encodeRequest(request), config, cancellation), { isShared: true }),
    ),
    get closed() {
      return closing !== undefined;
    },
  };

  return {
    send(buildRequest, options) {
      try {
        const request = buildRequest();
        const checked =
          options === undefined ? options : checkRequestOptions(`${request.method} ${request.path}`, options);
        return runCall(request, createCall(request, checked));
      } catch (error) {
        return Promise.reject(error);
      }
    },
    sendPage: (request, options, signal) => runCall(request, createCall(request, options, signal), { isShared: true }),
    guard: (what, callback) => config.telemetry.guard(what, callback),
    limiter: config.limiter,
    get closed() {
      closedController ??= new AbortController();
      if (closing) closedController.abort();
      return closedController.signal;
    },
    close() {
      closing ??= finishAndClose();
      closedController?.abort();
      return closing;
    },
  };

  function createCall(
    request: CallRequest<unknown>,
    options = NO_REQUEST_OPTIONS,
    iterationSignal?: AbortSignal,
  ): Call {
    const payload = encodeRequest(request);
    const { signal, totalTimeoutMs = config.totalTimeoutMs, priority } = options;
    const cancellation = new CallCancellation([signal, iterationSignal], totalTimeoutMs);
    const isBulk = options[ATTEMPT_JOURNAL] !== undefined;
    const withPriority = priority === undefined ? request : { ...request, priority };
    const prioritized = isBulk ? { ...withPriority, isBulk: true } : withPriority;
    return new Call(
      prioritized,
      payload,
      options === NO_REQUEST_OPTIONS ? config : mergeSettings(options),
      cancellation,
    );
  }

  function mergeSettings(options: RequestOptions): CallSettings {
    const { timeoutMs = config.timeoutMs, retry, headers, onResponse, [ATTEMPT_JOURNAL]: journal } = options;
    return {
      timeoutMs,
      retry: mergeRetryOptions(config.retry, retry),
      headers: headers ? { ...config.headers, ...lowerCaseHeaderNames(headers) } : config.headers,
      onResponse,
      journal,
    };
  }

  /** Rejects with the error for the caller, or with a `FailedCall` if several callers may wait. */
  async function runCall<T>({ read }: CallRequest<T>, call: Call, { isShared } = { isShared: false }): Promise<T> {
    calls.add(call);
    config.telemetry.emit("start", () => ({ ...call.identity, url: config.baseUrl + call.request.path }));
    let errorName: string | undefined;
    try {
      const response = await sendWithRetries(deps, call);
      return await read({ response, call, validation: config.validation });
    } catch (failure) {
      const error = createCallerError(call, failure);
      errorName = String(fieldOf(error, "name") || typeof error);
      throw isShared ? new FailedCall(call, failure, error) : error;
    } finally {
      call.cancellation.dispose();
      calls.delete(call);
      if (calls.size === 0) resolveIdle?.();
      reportEnd(call, errorName);
    }
  }

  function reportWait(call: Call, waitedMs: number, expectedMs: number): void {
    config.telemetry.emit("waiting", () => {
      const { pausedUntil } = config.limiter.snapshot();
      const restMs = Math.max(expectedMs, pausedUntil === null ? 0 : pausedUntil - Date.now());
      const isExpected = call.waitingFor === "slot" && restMs > 0 && restMs < Infinity;
      const reason = call.waitingFor === "token" ? "token" : pausedUntil === null ? "limit" : "pause";
      return { ...call.identity, reason, waitedMs, expectedMs: isExpected ? restMs : undefined };
    });
  }

  function reportEnd(
    { identity, attemptTrace: trace, attempts, settings, startedAtMs, startedAtEpochMs }: Call,
    error: string | undefined,
  ): void {
    const { onResponse } = settings;
    const head = trace?.head;
    const durationMs = monotonicNowMs() - startedAtMs;
    const { call, method, path } = identity;
    config.telemetry.end({
      call,
      method,
      path,
      startedAt: startedAtEpochMs,
      durationMs,
      attempts,
      status: head?.status,
      error,
    });
    if (!onResponse || !head) return;
    config.telemetry.guard("onResponse", () => onResponse(redactData({ ...head, method, path, attempts, durationMs })));
  }

  async function finishAndClose(): Promise<void> {
    for (const call of calls) if (!call.inFlight) call.cancellation.cancel({ kind: "closed" });
    const stopWatching = watchForStalledValidations();
    if (calls.size > 0) await new Promise<void>((resolve) => (resolveIdle = resolve));
    stopWatching();
    await config.transport.close();
  }

  /** A schema of the caller's may never settle: a validation that lasts a whole interval is cancelled. */
  function watchForStalledValidations(): () => void {
    let previous = new Set<unknown>();
    let stop = () => {};
    const check = () => {
      for (const { pendingValidation, cancellation } of calls)
        if (previous.has(pendingValidation)) cancellation.cancel({ kind: "closed" });
      previous = new Set([...calls].flatMap(({ pendingValidation }) => pendingValidation ?? []));
      stop = startTimer(STALLED_VALIDATION_INTERVAL_MS, check);
    };
    check();
    return () => stop();
  }
}
