import { redactData } from "../../shared/errors/redact.js";
import { rememberCallHeaders } from "../../shared/errors/secrets.js";
import { Closed, Lifetime } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import type { ClientState } from "../observe/events.js";
import { nameOfThrown } from "../observe/observer.js";
import { lowerCaseHeaderNames } from "../transport/headers.js";
import { attempt, type ClientParts, reportRetry } from "./attempt.js";
import { type ApiRequest, Call, type CallSettings, type ResponseValidation } from "./call.js";
import { callerError, errorOfEnd, errorOfReading, showCaller, slotTooLateError } from "./caller-error.js";
import { type AttemptResult, NOT_BEGUN, type Progress } from "./progress.js";
import { checkRequestOptions, type RequestOptions, type ResponseInfo } from "./request-options.js";
import { retried } from "./retry.js";
import { mergeRetryOptions } from "./retry-options.js";
import { SharedRequests } from "./shared-requests.js";
import { WriteLog } from "./write-log.js";

export interface Requester {
  /**
   * Sends a request and returns the result of its reader. `ownerSignal` also aborts the request. It belongs to the
   * iteration or the token renewal that sends the request, and that adds the caller's line to an error itself
   * (`showCaller`).
   */
  send<T>(request: ApiRequest<T>, options?: RequestOptions, ownerSignal?: AbortSignal): Promise<T>;
}

/** Sends the requests of one call. */
export interface RequestGroup extends Requester {
  /** How many requests the group has sent. */
  requests: number;
  /** When the oldest request was sent, by the monotonic clock in ms; `Infinity` if requests are not shared. */
  oldestSentAt: number;
  /** The caller's signal and deadline. */
  readonly lifetime: Lifetime;
  /** Whether requests of the group may be shared with other calls. */
  readonly isShared: boolean;
  /** Notes the response to a shared request that another call has sent. */
  note(response: ResponseInfo): void;
}

export interface RequesterConfig extends Omit<ClientParts, "closed" | "onTheWire"> {
  /** The base URL, without a slash at its end. */
  baseUrl: string;
  validation: ResponseValidation;
  totalTimeoutMs: number;
  /** The settings of a call whose caller sets none. */
  settings: CallSettings;
}

/**
 * Sends the requests of a client:
 *
 *   send            checks the options, encodes the request, begins and ends the call; errors for the caller
 *     attempt       token, slot, `beforeSend`, one exchange, and what follows from its status (attempt.ts)
 *     retried       if it failed: further attempts, and the back-off between them (retry.ts)
 *     read          the response becomes a typed value (response.ts)
 */
export class ClientRequester implements Requester, ClientState {
  /** Aborted when the client is closed. */
  readonly closed = new Lifetime([], Infinity);
  readonly writes = new WriteLog();
  readonly #shared = new SharedRequests(this.writes, (lifetime, request, options, onSend) =>
    this.#sendWithin(lifetime, request, options, onSend),
  );
  readonly #config: RequesterConfig;
  readonly #parts: ClientParts;
  readonly #active = new Set<Call>();
  #closing: Promise<void> | undefined;
  #onIdle = () => {};

  constructor(config: RequesterConfig) {
    this.#config = config;
    this.#parts = { ...config, closed: this.closed, onTheWire: new Set() };
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

  async send<T>(request: ApiRequest<T>, given?: RequestOptions, ownerSignal?: AbortSignal): Promise<T> {
    const options = given === undefined ? given : checkRequestOptions(`${request.method} ${request.path}`, given);
    const lifetime = new Lifetime(
      [options?.signal, ownerSignal],
      options?.totalTimeoutMs ?? this.#config.totalTimeoutMs,
    );
    try {
      return await this.#sendWithin(lifetime, request, options);
    } catch (error) {
      if (!ownerSignal) showCaller(error);
      throw error;
    } finally {
      lifetime.end();
    }
  }

  /** Sends a request within a lifetime, with options that were checked. */
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
    let progress = NOT_BEGUN;
    let errorName: string | undefined;
    if (call.isWrite) this.writes.note(request.shortID);
    try {
      return await observed.run(async () => {
        const result = await this.#sendAttempts(call);
        progress = result.progress;
        if (result.failure) throw callerError(call, progress, result.failure);
        if (call.isWrite) progress = { ...progress, applied: "yes" };
        try {
          return await request.read({ response: result.response, call, sentAt: progress.sending.sentAt, validation });
        } catch (thrown) {
          throw errorOfReading(call, progress, thrown);
        }
      });
    } catch (error) {
      errorName = nameOfThrown(error);
      throw error;
    } finally {
      const { attempts, responseHead } = progress;
      if (call.isWrite) this.writes.note(request.shortID);
      observed.notify((observation) => observation.ended({ status: responseHead?.status, error: errorName }));
      const durationMs = monotonicNowMs() - startedAt;
      if (responseHead) this.#report(call.settings, { ...responseHead, method, path, attempts, durationMs });
      forgetHeaders?.();
    }
  }

  /**
   * Runs several requests as one call: they have one deadline, one signal and one `onResponse`. `run` receives a group,
   * which sends the requests with these checked options and counts them. With `shares`, equal requests in flight are
   * sent only once.
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

  /** Runs a method that sends several requests. Instrumentations see them as one method. */
  async asOneMethod<T>(name: string, run: () => Promise<T>): Promise<T> {
    return await this.#config.observer.runMethod(this, name, run);
  }

  /** Rejects waiting calls, lets calls on the wire finish, then closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.closed.abort(new Closed());
    for (const call of this.#active) if (!this.#parts.onTheWire.has(call)) call.lifetime.abort(new Closed());
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#config.limiter.flush();
    await this.#config.transport.close();
  }

  async #sendAttempts(call: Call): Promise<AttemptResult> {
    const parts = this.#parts;
    if (this.isClosed) call.lifetime.abort(new Closed());
    this.#active.add(call);
    try {
      const runAttempt = (progress: Progress) => attempt(parts, call, progress);
      const first = await runAttempt(NOT_BEGUN);
      if (!first.failure) return first;
      return await retried(call, first, {
        runAttempt,
        isLast: () => this.isClosed,
        onRetry: (progress, reason) => reportRetry(parts, call, progress, reason),
      });
    } finally {
      this.#active.delete(call);
      if (this.#active.size === 0) this.#onIdle();
    }
  }

  /**
   * Throws if a slot would come too late for this caller. The shared request itself waits for its slot without a
   * deadline.
   */
  #assertSlotInTime(
    lifetime: Lifetime,
    { method, path, priority = "normal" }: ApiRequest<unknown>,
    options: RequestOptions,
  ) {
    const waitMs = this.limiter.waitMs(options.priority ?? priority);
    if (waitMs <= Math.max(0, lifetime.remainingMs)) return;
    const { pausedUntil } = this.limiter.snapshot();
    throw slotTooLateError(`${method} ${path}`, lifetime.totalTimeoutMs, { waitMs, pausedUntil });
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
