import type { TokenManager } from "../auth/token-manager.js";
import { redactData } from "../errors/redaction/redact.js";
import { fieldOf } from "../errors/unknown-value.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import { CallCancellation, type Cancellation } from "../time/cancellation.js";
import { monotonicNowMs, startTimer } from "../time/clock.js";
import { Call, type CallRequest, type CallSettings, type ValidationMode } from "./call.js";
import type { ClientParts } from "./client-parts.js";
import { CallFailure } from "./failure.js";
import { attemptJournalSymbol } from "./request/attempt-journal.js";
import { checkRequestOptions, lowerCaseHeaderNames, type RequestOptions } from "./request/options.js";
import { encodeRequest } from "./request/payload.js";
import { createCallerError, toCallFailure } from "./response/caller-error.js";
import { mergeRetryOptions } from "./retry-policy.js";
import { ServiceClock } from "./service-clock.js";
import { ClientState } from "./telemetry/events.js";
import { LongWaitReporter } from "./telemetry/long-waits.js";
import type { Telemetry } from "./telemetry/telemetry.js";
import type { Transport } from "./transport/transport.js";
import { sendWithRetries } from "./with-retries.js";

export interface PipelineConfig {
  /** Without a slash at its end. */
  baseUrl: string;
  transport: Transport;
  limiter: RateLimiter;
  telemetry: Telemetry;
  validation: ValidationMode;
  totalTimeoutMs: number;
  /** The settings of a call that sets none. */
  settings: CallSettings;
  /** The token manager sends its requests through this pipeline. */
  createTokenManager(
    sendTokenRequest: <T>(request: CallRequest<T>, cancellation: Cancellation) => Promise<T>,
  ): TokenManager;
}

/** The interface of the core for what takes several requests: a list, or a search in one. */
export interface PartSender {
  /**
   * Sends one of them, with options that were validated. It may be a page that is read ahead, before a caller waits for it,
   * so it rejects with a `CallFailure`. `signal` aborts it too.
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
   * one signal, one end. `list` is what the call is named after. The options of each part are those of the call.
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

/** How often `close()` looks for validations that do not end. */
const STALLED_VALIDATION_INTERVAL_MS = 1_000;

/**
 * Every request takes these steps: it is encoded, sent (each attempt: token, slot, transport) until it succeeds or the retry
 * policy stops, then its response is read, or its failure becomes an error for the caller.
 */
export function createPipeline(config: PipelineConfig): Pipeline {
  const { baseUrl, transport, limiter, telemetry, validation, settings } = config;
  const calls = new Set<Call>();
  let resolveIdle: (() => void) | undefined;
  let closing: Promise<void> | undefined;
  // Created at first use: Workers forbid it at module level, where clients are created.
  let closedController: AbortController | undefined;
  const parts: ClientParts = {
    limiter,
    transport,
    telemetry,
    waits: new LongWaitReporter(reportWait),
    state: new ClientState(baseUrl, limiter, () => closing !== undefined),
    serviceClock: new ServiceClock(),
    tokens: config.createTokenManager((request, cancellation) =>
      runCall(request, new Call(request, encodeRequest(request), settings, cancellation)),
    ),
  };

  const pipeline: Pipeline = {
    send(buildRequest, options) {
      try {
        const request = buildRequest();
        const label = `${request.method} ${request.path}`;
        const checked = options === undefined ? options : checkRequestOptions(label, options);
        return runCall(request, createCall(request, checked)).catch(throwCallerError);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    sendPart: (request, options, signal) => runCall(request, createCall(request, options, signal)),
    sendSeries: (list, options, run) => runSeries(createCall(list, options), run).catch(throwCallerError),
    guard: (what, callback) => telemetry.guard(what, callback),
    warn: telemetry.warn,
    limiter,
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
  return pipeline;

  function createCall(
    request: Omit<CallRequest<unknown>, "read">,
    options?: RequestOptions,
    iteration?: AbortSignal,
  ): Call {
    const payload = encodeRequest(request);
    const totalTimeoutMs = options?.totalTimeoutMs ?? config.totalTimeoutMs;
    const cancellation = new CallCancellation([options?.signal, iteration], totalTimeoutMs);
    return new Call(request, payload, options ? mergeSettings(options) : settings, cancellation);
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
      journal: options[attemptJournalSymbol],
    };
  }

  /** Sends and reads. Rejects with a `CallFailure`, from which each caller who waits creates an error. */
  async function runCall<T>({ read }: CallRequest<T>, call: Call): Promise<T> {
    calls.add(call);
    if (closing) call.close();
    if (!call.whole) reportStart(call);
    let error: unknown;
    try {
      const response = await sendWithRetries(parts, call);
      return await read({ response, call, validation });
    } catch (thrown) {
      const failure = toCallFailure(call, thrown);
      error = failure.cause;
      throw failure;
    } finally {
      calls.delete(call);
      if (calls.size === 0) resolveIdle?.();
      if (!call.whole) finish(call, error);
    }
  }

  async function runSeries<T>(whole: Call, run: (series: PartSender) => Promise<T>): Promise<T> {
    const sendPart: PartSender["sendPart"] = (request) =>
      runCall(request, new Call(request, encodeRequest(request), whole.settings, whole.cancellation, whole));
    reportStart(whole);
    let error: unknown;
    try {
      return await run({ sendPart, guard: pipeline.guard, limiter });
    } catch (thrown) {
      error = thrown instanceof CallFailure ? thrown.cause : thrown;
      throw thrown;
    } finally {
      finish(whole, error);
    }
  }

  function reportStart(call: Call): void {
    telemetry.emit("start", () => ({ ...call.identity, url: baseUrl + call.request.path }));
  }

  function finish(call: Call, error: unknown): void {
    call.cancellation.dispose();
    reportEnd(call, error);
  }

  function reportWait(call: Call, waitedMs: number, expectedMs: number): void {
    telemetry.emit("waiting", () => {
      const { pausedUntil } = limiter.snapshot();
      const restMs = Math.max(expectedMs, pausedUntil === null ? 0 : pausedUntil - Date.now());
      const isExpected = call.waitingFor === "slot" && restMs > 0 && restMs < Infinity;
      const reason = call.waitingFor === "token" ? "token" : pausedUntil === null ? "limit" : "pause";
      return { ...call.identity, reason, waitedMs, expectedMs: isExpected ? restMs : undefined };
    });
  }

  function reportEnd(call: Call, error: unknown): void {
    const { attemptTrace, attempts, request } = call;
    const { onResponse } = call.settings;
    const { method, path } = request;
    const head = attemptTrace?.head;
    const durationMs = monotonicNowMs() - call.startedAtMs;
    // Without a spread, which would take 10 µs in every call (bench: overhead).
    telemetry.end({
      call: call.id,
      method,
      path,
      startedAt: call.startedAtEpochMs,
      durationMs,
      attempts,
      status: head?.status,
      error: error === undefined ? undefined : String(fieldOf(error, "name") || typeof error),
    });
    if (!onResponse || !head) return;
    const { method: sentMethod, path: sentPath } = (call.lastPart ?? call).request;
    const response = { ...head, method: sentMethod, path: sentPath, attempts, durationMs };
    telemetry.guard("onResponse", () => onResponse(redactData(response)));
  }

  async function finishAndClose(): Promise<void> {
    for (const call of calls) call.close();
    const stopWatching = watchForStalledValidations();
    if (calls.size > 0) await new Promise<void>((resolve) => (resolveIdle = resolve));
    stopWatching();
    await transport.close();
  }

  /** A schema of the caller's may never end: a validation that lasts a whole interval is canceled. */
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

function throwCallerError(failure: unknown): never {
  throw createCallerError(failure);
}
