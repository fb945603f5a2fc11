import type { TokenManager } from "../auth/token-manager.js";
import { redactData } from "../errors/redact.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import { Lifetime } from "../time/lifetime.js";
import { attempt } from "./attempt.js";
import { Call, type CallRequest, type CallSettings, type ResponseCheck } from "./call.js";
import { encodePayload } from "./payload.js";
import { publicError } from "./public-error.js";
import type { Reporter } from "./reporter.js";
import { checkRequestOptions, type RequestOptions } from "./request-options.js";
import { withRetry } from "./retry.js";
import type { RetrySettings } from "./retry-policy.js";
import type { Transport } from "./transport.js";

export interface PipelineOptions {
  transport: Transport;
  limiter: RateLimiter;
  reporter: Reporter;
  check: ResponseCheck;
  maxResponseBytes: number;
  timeoutMs: number;
  totalTimeoutMs: number;
  retry: RetrySettings;
  headers: Record<string, string>;
  /** The token manager, which sends its own requests through this pipeline. */
  tokens(pipeline: Pipeline): TokenManager;
}

/** Sends a request and gives what its answer holds. All that resources and paging know of the core. */
export interface Send {
  <T>(request: CallRequest<T>, options?: RequestOptions, leave?: AbortSignal): Promise<T>;
  /** What tells how much the rate limit allows. */
  limiter(): Pick<RateLimiter, "snapshot" | "reserved">;
}

/**
 * The way of every request: a lifetime, attempts until the retry policy is content (each one: token, slot, transport),
 * then the answer is read, or the failure becomes an error for the caller.
 */
export class Pipeline {
  readonly limiter: RateLimiter;
  readonly transport: Transport;
  readonly reporter: Reporter;
  readonly maxResponseBytes: number;
  readonly tokens: TokenManager;
  readonly #options: PipelineOptions;
  readonly #calls = new Set<Call>();
  #whenIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.limiter = options.limiter;
    this.transport = options.transport;
    this.reporter = options.reporter;
    this.maxResponseBytes = options.maxResponseBytes;
    this.tokens = options.tokens(this);
  }

  /** Sends for a caller, with the caller's options; `leave` aborts it too. */
  readonly send: Send = Object.assign(
    async <T>(request: CallRequest<T>, options = NO_OPTIONS, leave?: AbortSignal): Promise<T> => {
      if (options !== NO_OPTIONS) checkRequestOptions(`${request.method} ${request.path}`, options);
      const payload = encodePayload(request);
      const lifetime = new Lifetime([options.signal, leave], options.totalTimeoutMs ?? this.#options.totalTimeoutMs);
      const { priority } = options;
      const wanted = priority === undefined ? request : { ...request, priority };
      const settings = options === NO_OPTIONS ? this.#options : this.#settingsOf(options);
      return this.#run(request, new Call(wanted, payload, settings, lifetime));
    },
    { limiter: () => this.limiter },
  );

  /** Sends for the client itself: the request for a token. */
  sendOwn<T>(request: CallRequest<T>, lifetime: Lifetime): Promise<T> {
    return this.#run(request, new Call(request, encodePayload(request), this.#options, lifetime));
  }

  #settingsOf({ timeoutMs, retry, headers, onResponse }: RequestOptions): CallSettings {
    const own = this.#options;
    return {
      timeoutMs: timeoutMs ?? own.timeoutMs,
      retry: mergeRetry(own.retry, retry),
      headers: headers ? { ...own.headers, ...lowerCase(headers) } : own.headers,
      onResponse,
    };
  }

  async #run<T>({ answer }: CallRequest<T>, call: Call): Promise<T> {
    this.#calls.add(call);
    try {
      const response = await withRetry(this, call, attempt);
      return await answer(response, call, this.#options.check);
    } catch (failure) {
      throw publicError(call, failure);
    } finally {
      call.lifetime.dispose();
      this.#calls.delete(call);
      if (this.#calls.size === 0) this.#whenIdle?.();
      this.#tellResponse(call);
    }
  }

  #tellResponse(call: Call): void {
    const { response, request, attempts } = call;
    const { onResponse } = call.settings;
    if (!onResponse || !response) return;
    const durationMs = performance.now() - call.startedAt;
    this.reporter.guard("onResponse", () =>
      onResponse(redactData({ ...response, method: request.method, path: request.path, attempts, durationMs })),
    );
  }

  /** Calls that wait are rejected, those on their way end; then connections are closed. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  async #close(): Promise<void> {
    for (const call of this.#calls) if (!call.inFlight) call.lifetime.end({ kind: "closed" });
    if (this.#calls.size > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    await this.transport.close();
  }
}

const NO_OPTIONS: RequestOptions = {};
const NO_RETRY = { maxRetries: 0, maxRateLimitRetries: 0 };

/** The settings with the caller's over them; what the caller leaves out or leaves `undefined` stays. */
export function mergeRetry(settings: RetrySettings, given: RequestOptions["retry"]): RetrySettings {
  if (given === undefined) return settings;
  if (given === false) return { ...settings, ...NO_RETRY };
  return {
    maxRetries: given.maxRetries ?? settings.maxRetries,
    minDelayMs: given.minDelayMs ?? settings.minDelayMs,
    maxDelayMs: given.maxDelayMs ?? settings.maxDelayMs,
    maxRateLimitRetries: given.maxRateLimitRetries ?? settings.maxRateLimitRetries,
    rateLimitDelayMs: given.rateLimitDelayMs ?? settings.rateLimitDelayMs,
  };
}

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
