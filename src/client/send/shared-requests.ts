import type { Lifetime } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { SharedWork } from "../../shared/time/shared-work.js";
import type { Priority } from "../limiter/rate-limiter.js";
import type { ApiRequest } from "./call.js";
import { encodeRequest } from "./payload.js";
import type { RequestOptions, ResponseInfo } from "./request-options.js";
import type { WriteLog } from "./write-log.js";

/** Sends a request within a lifetime. `onSend` is called right before its first byte. */
export type SendWithin = <T>(
  lifetime: Lifetime,
  request: ApiRequest<T>,
  options: RequestOptions,
  onSend: () => void,
) => Promise<T>;

/** The result of a request that several callers may share. */
export interface SharedResult<T> {
  value: T;
  /** When the request was sent, by the monotonic clock. */
  sentAt: number;
}

interface SharedRequest<T> {
  work: SharedWork<SharedResult<T>>;
  response: ResponseInfo | undefined;
  priority: Priority;
  /** The `WriteLog.epoch` at which the request was sent; `undefined` before that. */
  epoch: number | undefined;
  /** The more urgent request that has replaced this request. */
  next: SharedRequest<T> | undefined;
}

/** The reason with which a waiting request ends if a more urgent request replaces it. */
const REPLACED = new Error("replaced by a more urgent request");

const PRIORITIES: readonly Priority[] = ["high", "normal", "low"];

/**
 * Shares requests in flight between equal reads of one client: if 60 callers ask for the same page at the same time, one request
 * is sent. Each caller leaves by its own signal and deadline. A request that was sent before a write of this client began or
 * ended is not joined, so that a caller who writes and then reads sees the write.
 */
export class SharedRequests {
  readonly #requests = new Map<string, SharedRequest<unknown>>();

  constructor(
    private readonly writes: WriteLog,
    private readonly sendWithin: SendWithin,
  ) {}

  /**
   * Returns a key of the options that must be equal for a request to be shared; `undefined` if the options rule sharing
   * out.
   */
  static keyOf({ headers, beforeSend, timeoutMs, retry }: RequestOptions): string | undefined {
    return headers || beforeSend ? undefined : JSON.stringify([String(timeoutMs), retry]);
  }

  /**
   * Joins an equal request in flight, or sends the request. Every caller's `onResponse` receives the final response.
   */
  async send<T>(
    caller: Lifetime,
    request: ApiRequest<T>,
    options: RequestOptions & { onResponse: (response: ResponseInfo) => void },
  ): Promise<SharedResult<T>> {
    caller.throwIfAborted();
    const { onResponse, priority = request.priority ?? "normal", ...settings } = options;
    const key = `${request.method} ${encodeRequest(request).target} ${SharedRequests.keyOf(settings)}`;
    const begin = () => this.#begin(key, request, { ...settings, priority });
    const found = this.#requests.get(key) as SharedRequest<T> | undefined;
    let shared = found && this.#isJoinable(found) ? found : begin();
    // A request that still waits for a slot gets the priority of its most urgent caller.
    if (shared.epoch === undefined && PRIORITIES.indexOf(priority) < PRIORITIES.indexOf(shared.priority)) {
      shared.next = begin();
      shared.work.abort(REPLACED);
      shared = shared.next;
    }
    for (;;) {
      const current: SharedRequest<T> = shared;
      try {
        const result = await current.work.wait(caller);
        if (current.response) onResponse(current.response);
        return result;
      } catch (error) {
        if (error !== REPLACED || !current.next || caller.aborted) {
          if (!caller.aborted && current.response) onResponse(current.response);
          throw error;
        }
        shared = current.next;
      }
    }
  }

  #isJoinable({ work, epoch }: SharedRequest<unknown>): boolean {
    return !work.isAborted && (epoch === undefined || epoch === this.writes.epoch);
  }

  #begin<T>(key: string, request: ApiRequest<T>, options: RequestOptions & { priority: Priority }): SharedRequest<T> {
    let sentAt = monotonicNowMs();
    const onSend = () => {
      sentAt = monotonicNowMs();
      shared.epoch = this.writes.epoch;
    };
    const onResponse = (response: ResponseInfo) => {
      shared.response = response;
    };
    const work = new SharedWork(async (lifetime) => {
      try {
        const value = await this.sendWithin(lifetime, request, { ...options, onResponse }, onSend);
        return { value, sentAt };
      } finally {
        if (this.#requests.get(key) === shared) this.#requests.delete(key);
      }
    });
    const { priority } = options;
    const shared: SharedRequest<T> = { work, response: undefined, priority, epoch: undefined, next: undefined };
    this.#requests.set(key, shared as SharedRequest<unknown>);
    return shared;
  }
}
