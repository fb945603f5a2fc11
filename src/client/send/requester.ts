import {
  ClientClosedError,
  ConnectionError,
  OutcomeUnknownError,
  StocklotError,
  TimeoutError,
} from "../../shared/errors/index.js";
import { redactData } from "../../shared/errors/redact.js";
import { rememberCallHeaders } from "../../shared/errors/secrets.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { NoSlots, type RateLimiter, SlotTooLate } from "../limiter/rate-limiter.js";
import type { ClientState } from "../observe/events.js";
import { nameOfThrown } from "../observe/observer.js";
import { attempt, type ClientParts, reportRetry } from "./attempt.js";
import { type ApiRequest, Call, type CallSettings, type ResponseValidation, reasonIn } from "./call.js";
import { Failure } from "./failure.js";
import { lowerCaseHeaderNames } from "./headers.js";
import { Closed, Lifetime, OutOfTime } from "./lifetime.js";
import { JSON_CONTENT_TYPE } from "./payload.js";
import { checkRequestOptions, type RequestOptions, type ResponseInfo } from "./request-options.js";
import { withRetries } from "./retry.js";
import { mergeRetryOptions } from "./retry-options.js";
import { SharedRequests } from "./shared-requests.js";
import { WriteLog } from "./write-log.js";

/** Sends requests. */
export interface Requester {
  /**
   * Sends a request and returns the result of its reader. `shared` aborts it, too: of an iteration whose pages are read ahead,
   * or of a token request. The caller who waits for it is shown later (`showCaller`).
   */
  send<T>(request: ApiRequest<T>, options?: RequestOptions, shared?: AbortSignal): Promise<T>;
}

/** Sends the requests of one call. */
export interface RequestGroup extends Requester {
  /** How many it has sent. */
  requests: number;
  /** When the oldest of them was sent, by the monotonic clock; only if they may be shared. */
  oldestSentAt: number;
  /** The caller's signal and deadline. */
  readonly lifetime: Lifetime;
  /** Whether its requests may be shared with other calls. */
  readonly isShared: boolean;
  /** Notes a response that another call has received for this one, too. */
  note(response: ResponseInfo): void;
}

export interface RequesterConfig extends ClientParts {
  /** Without a slash at its end. */
  baseUrl: string;
  validation: ResponseValidation;
  totalTimeoutMs: number;
  /** The settings of a call that sets none. */
  settings: CallSettings;
}

/**
 * Sends the requests of a client:
 *
 *   send            checks the options, encodes the request, begins and ends the call; errors for the caller
 *     withRetries   attempts, and the back-off between them (retry.ts)
 *       attempt     token, slot, `beforeSend`, one exchange, and what follows from its status (attempt.ts)
 *     read          the response becomes a typed value (response.ts)
 */
export class ClientRequester implements Requester, ClientState {
  /** Aborted when the client is closed. */
  readonly closed = new Lifetime([], Infinity);
  /** The writes of this client. */
  readonly writes = new WriteLog();
  readonly #shared = new SharedRequests(this.writes, (lifetime, request, options, onSend) =>
    this.#sendWithin(lifetime, request, options, onSend),
  );
  readonly #config: RequesterConfig;
  readonly #active = new Set<Call>();
  #closing: Promise<void> | undefined;
  #onIdle = () => {};

  constructor(config: RequesterConfig) {
    this.#config = config;
  }

  get url(): string {
    return this.#config.baseUrl;
  }

  get limiter(): RateLimiter {
    return this.#config.limiter;
  }

  get isClosed(): boolean {
    return this.closed.aborted;
  }

  warn(message: string): void {
    this.#config.observer.warn(message);
  }

  async send<T>(request: ApiRequest<T>, given?: RequestOptions, shared?: AbortSignal): Promise<T> {
    const options = given === undefined ? given : checkRequestOptions(`${request.method} ${request.path}`, given);
    const lifetime = new Lifetime([options?.signal, shared], options?.totalTimeoutMs ?? this.#config.totalTimeoutMs);
    try {
      return await this.#sendWithin(lifetime, request, options);
    } catch (error) {
      if (!shared) showCaller(error);
      throw error;
    } finally {
      lifetime.end();
    }
  }

  /** The same within a lifetime, with options that were checked. */
  async #sendWithin<T>(
    lifetime: Lifetime,
    request: ApiRequest<T>,
    options?: RequestOptions,
    onSend?: () => void,
  ): Promise<T> {
    const { observer, validation } = this.#config;
    const { method, path } = request;
    const observed = observer.startCall(this, method, path);
    const call = new Call(request, this.#settingsOf(options, onSend), lifetime, observed);
    const forgetHeaders = options?.headers && rememberCallHeaders(options.headers);
    const startedAt = monotonicNowMs();
    let end: string | undefined;
    if (call.isWrite) this.writes.note(request.shortID);
    try {
      return await observed.run(async () => {
        const response = await this.#exchange(call);
        if (call.isWrite) call.applied = "yes";
        return await request.read({ response, call, validation });
      });
    } catch (thrown) {
      const error = errorForCaller(call, thrown);
      end = nameOfThrown(error);
      throw error;
    } finally {
      const { attempts, head, settings } = call;
      if (call.isWrite) this.writes.note(request.shortID);
      observed.notify((observation) => observation.ended({ status: head?.status, error: end }));
      if (head) this.#report(settings, { ...head, method, path, attempts, durationMs: monotonicNowMs() - startedAt });
      forgetHeaders?.();
    }
  }

  /**
   * Runs several requests as one call of the caller's: one deadline, one signal, one `onResponse`. The group that `run` gets
   * sends all of them with these options, which were checked, and counts them. With `shares`, equal requests in flight are one.
   */
  async group<T>(given: RequestOptions, run: (group: RequestGroup) => Promise<T>, shares = false): Promise<T> {
    const { signal, totalTimeoutMs = this.#config.totalTimeoutMs, onResponse, ...rest } = given;
    const lifetime = new Lifetime([signal], totalTimeoutMs);
    const isShared = shares && SharedRequests.keyOf(rest) !== undefined;
    const startedAt = monotonicNowMs();
    let attempts = 0;
    let last: ResponseInfo | undefined;
    let label = "a search";
    const note = (response: ResponseInfo) => {
      attempts += response.attempts;
      last = response;
    };
    const send: Requester["send"] = async (request) => {
      group.requests += 1;
      label = `${request.method} ${request.path}`;
      if (!isShared) return this.#sendWithin(lifetime, request, { ...rest, onResponse: note });
      this.#assertSlotInTime(lifetime, request, rest);
      const { value, sentAt } = await this.#shared.send(lifetime, request, { ...rest, onResponse: note });
      group.oldestSentAt = Math.min(group.oldestSentAt, sentAt);
      return value;
    };
    const group: RequestGroup = { send, requests: 0, oldestSentAt: Infinity, lifetime, isShared, note };
    try {
      if (this.isClosed) lifetime.abort(new Closed());
      lifetime.throwIfAborted();
      return await run(group);
    } catch (thrown) {
      const error = errorOfEnd(label, thrown);
      showCaller(error);
      throw error;
    } finally {
      lifetime.end();
      if (last) this.#report({ onResponse }, { ...last, attempts, durationMs: monotonicNowMs() - startedAt });
    }
  }

  /** Runs a method that sends several requests, so that instrumentations see it as one. */
  async asOneMethod<T>(name: string, run: () => Promise<T>): Promise<T> {
    return await this.#config.observer.runMethod(this, name, run);
  }

  /** Rejects waiting calls, lets those on the wire finish, then closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.closed.abort(new Closed());
    for (const call of this.#active) {
      call.isLastAttempt = true;
      if (!call.isOnTheWire) call.lifetime.abort(new Closed());
    }
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#config.limiter.flush();
    await this.#config.transport.close();
  }

  async #exchange(call: Call) {
    if (this.isClosed) call.lifetime.abort(new Closed());
    this.#active.add(call);
    try {
      return await withRetries(
        call,
        () => attempt(this.#config, call),
        (reason) => reportRetry(this.#config, call, reason),
      );
    } finally {
      this.#active.delete(call);
      if (this.#active.size === 0) this.#onIdle();
    }
  }

  /** A request that is shared waits for its slot without a deadline of its own, so each caller fails early by himself. */
  #assertSlotInTime(
    lifetime: Lifetime,
    { method, path, priority = "normal" }: ApiRequest<unknown>,
    options: RequestOptions,
  ) {
    const waitMs = this.limiter.waitMs(options.priority ?? priority);
    if (waitMs <= Math.max(0, lifetime.remainingMs)) return;
    throw slotTooLateError(`${method} ${path}`, new SlotTooLate(waitMs, this.limiter.snapshot().pausedUntil), {
      totalTimeoutMs: lifetime.totalTimeoutMs,
    });
  }

  #report({ onResponse }: Pick<RequestOptions, "onResponse">, response: ResponseInfo): void {
    if (onResponse) this.#config.observer.guard("onResponse", () => onResponse(redactData(response)));
  }

  #settingsOf(options: RequestOptions | undefined, onSend: (() => void) | undefined): CallSettings {
    const { settings } = this.#config;
    if (!options) return settings;
    const { timeoutMs = settings.timeoutMs, retry, headers, priority, onResponse, beforeSend } = options;
    return {
      timeoutMs,
      maxResponseBytes: settings.maxResponseBytes,
      retry: mergeRetryOptions(settings.retry, retry),
      headers: headers ? { ...settings.headers, ...lowerCaseHeaderNames(headers) } : settings.headers,
      priority,
      onResponse,
      beforeSend,
      onSend,
    };
  }
}

/** The error of a call, or of a search, that was ended. `state`: how far it had come. */
function errorOfEnd(label: string, reason: unknown, state = "", cause?: unknown): unknown {
  if (reason instanceof Closed) return new ClientClosedError(`${label}: the client is closed`);
  if (!(reason instanceof OutOfTime)) return reason;
  const message = `${label}: not finished within totalTimeoutMs (${reason.totalTimeoutMs} ms)${state}`;
  return new TimeoutError(message, { clock: "totalTimeoutMs", cause });
}

/** What the caller receives: the error of the last attempt, or an `OutcomeUnknownError` with that as its cause. */
function errorForCaller(call: Call, thrown: unknown): unknown {
  const { lifetime, applied, isWrite, mayRepeat } = call;
  const failure = thrown instanceof Failure ? thrown.error : thrown;
  const isEnd = lifetime.aborted && failure === lifetime.reason;
  const unsent = call.attempts === 0 ? ", nothing was sent" : call.attemptCount;
  const error = isEnd
    ? errorOfEnd(call.label, failure, `${unsent}${call.lastFailure}`, call.lastError)
    : errorOfWait(call, failure, unsent);
  if (!isWrite || applied === "no") return error;
  // An idempotent write fails as a read does, unless the caller has aborted it.
  const isAborted = isEnd && !isOwnReason(failure);
  // After a success, the response could not be used, or a schema of the caller's took too long.
  if (isAborted || (applied === "unknown" && !mayRepeat)) {
    const unknown = outcomeUnknownError(call, error);
    // The caller's own reason stays as it is.
    return isAborted ? Object.assign(unknown, { cause: failure }) : unknown;
  }
  return error instanceof StocklotError && error.applied === "no" ? Object.assign(error, { applied }) : error;
}

const isOwnReason = (reason: unknown) => reason instanceof OutOfTime || reason instanceof Closed;

/** The error of a wait for a slot; anything else as it is. */
function errorOfWait(call: Call, failure: unknown, unsent: string): unknown {
  if (failure instanceof NoSlots)
    return new ConnectionError(`${call.label}: ${failure.message}${unsent}`, { cause: failure.cause });
  if (!(failure instanceof SlotTooLate)) return failure;
  const { lastError, lastFailure, lifetime } = call;
  return slotTooLateError(call.label, failure, {
    totalTimeoutMs: lifetime.totalTimeoutMs,
    unsent,
    lastError,
    lastFailure,
  });
}

function slotTooLateError(
  label: string,
  { waitMs, pausedUntil }: SlotTooLate,
  {
    totalTimeoutMs,
    unsent = ", not sent",
    lastError,
    lastFailure = "",
  }: { totalTimeoutMs: number; unsent?: string; lastError?: unknown; lastFailure?: string },
): TimeoutError {
  const retryAfterMs = Number.isFinite(waitMs) ? Math.ceil(waitMs) : undefined;
  const why =
    pausedUntil === null
      ? `the rate limit is used up${retryAfterMs === undefined ? "" : `. Try again in ${retryAfterMs} ms`}`
      : `all requests pause until ${new Date(pausedUntil).toISOString()} after a 429. Try again then`;
  return new TimeoutError(
    `${label}: no slot within totalTimeoutMs (${totalTimeoutMs} ms)${unsent}: ${why}.${lastFailure.replace(/^\./, "")}`,
    {
      clock: "totalTimeoutMs",
      retryAfterMs,
      cause: lastError,
    },
  );
}

/** When the requests of `OutcomeUnknownError`s were sent, by the monotonic clock: that of this machine may be set meanwhile. */
export const monotonicSentAt = new WeakMap<object, number>();

const DEFAULT_RECOVERY_HINT = "Check whether it was applied before you resend it.";

function outcomeUnknownError(call: Call, cause: unknown): OutcomeUnknownError {
  const { label, sentAt, clockAheadMs, lastRecNo, head } = call;
  const { method, path, recoveryHint = DEFAULT_RECOVERY_HINT } = call.request;
  const { query, contentType, body } = call.payload;
  // The message of an error of this package begins with method and path, too.
  const reason = reasonIn(cause, label);
  const error = new OutcomeUnknownError(`${label}: sent, but the outcome is unknown (${reason}). ${recoveryHint}`, {
    cause,
    status: head?.status,
    request: {
      method,
      path,
      ...(Object.keys(query).length > 0 && { query }),
      // As it was sent: the caller may have changed its own object since.
      ...(body !== undefined && { body: contentType === JSON_CONTENT_TYPE ? JSON.parse(body) : body }),
      sentAt,
      ...(clockAheadMs !== undefined && { clockAheadMs }),
      ...(lastRecNo !== undefined && { lastRecNo }),
    },
  });
  monotonicSentAt.set(error.request, call.begunAtMs);
  return error;
}

/** Errors whose stack trace contains the line of a caller. */
const shown = new WeakSet<object>();

/** Here, in an async function that the caller awaits, V8 knows the caller's line. Of a shared failure, the first caller's stays. */
export function showCaller(error: unknown): void {
  if (!(error instanceof StocklotError) || shown.has(error)) return;
  shown.add(error);
  Error.captureStackTrace?.(error, showCaller);
}
