import { PaginationError } from "../../shared/errors/index.js";
import {
  type IterationSession,
  iterationStartPosition,
  type Page,
  type PageRequest,
  type ReceivedPage,
} from "./page.js";

/** Which pages are requested, and how many at a time. */
export interface PagePlan {
  /** How many requests may be in flight. */
  readonly maxInFlight: number;
  /** The request that follows `request`. `page` is the response to `request` if it has been received. */
  after(request: PageRequest, page: Page<unknown> | undefined): PageRequest;
  /** Position at which the page of `request` ends, as far as is known. */
  expectedEndOf(request: PageRequest): number;
  /** Called with each response when it is received, before any further request is planned. */
  noteAppliedSize(request: PageRequest, page: Page<unknown>): void;
}

/**
 * Reads the pages of a plan ahead of their consumer and returns them in the order of the plan.
 *
 * At most `maxInFlight` requests are in flight. In addition to the page that the consumer holds, at most `readAhead` pages are
 * outstanding, or with a `concurrency` above 1 the larger of both. With `readAhead` 0 and `concurrency` 1, no page is requested
 * before the consumer asks for it. A single further page is planned from the response before it. Several are planned up
 * to the known end of the list.
 */
export class PageStream<T> {
  readonly #session: IterationSession<T>;
  readonly #plan: PagePlan;
  /** How many pages may be outstanding. */
  readonly #maxOutstanding: number;
  /** Nothing at or after this position is read ahead. */
  readonly #readAheadLimit: number;
  #queue: PendingPage<T>[] = [];
  #taken: PendingPage<T> | undefined;
  #unplanned: PendingPage<T> | undefined;
  #requests = 0;
  #now = 0;
  #inFlight = 0;
  #listEnd = 0;
  /** True while the consumer waits for the next page. That page is requested even if nothing may be read ahead. */
  #awaited = false;
  #closed = false;

  constructor(session: IterationSession<T>, plan: PagePlan) {
    const { readAhead, concurrency, limit } = session;
    this.#session = session;
    this.#plan = plan;
    this.#maxOutstanding = concurrency > 1 ? Math.max(readAhead, concurrency) : readAhead;
    this.#readAheadLimit = iterationStartPosition(session) + limit;
  }

  /** Requests sent so far. */
  get requests(): number {
    return this.#requests;
  }

  /** The time by the clock of the iteration (`ReceivedPage`): how many responses have been received. */
  get now(): number {
    return this.#now;
  }

  /** The requests of the pages that follow the next one, as far as they are planned. */
  get following(): PageRequest[] {
    return this.#queue.slice(1).map(({ request }) => request);
  }

  /** The next page, which stays the next page until it is taken. Rejects with the error of its request. */
  peek(): Promise<ReceivedPage<T>> {
    this.#awaited = true;
    if (this.#queue.length === 0 && this.#taken?.page) {
      this.#queue.push(this.#pendingPage(this.#plan.after(this.#taken.request, this.#taken.page)));
    }
    this.#sendDue();
    return this.#queue[0]?.result ?? Promise.reject(new RangeError("No page was planned."));
  }

  /** The consumer now holds the next page, so another one may be read ahead. `next` replaces the planned requests. */
  take(next?: PageRequest): void {
    this.#taken = this.#queue.shift();
    this.#awaited = false;
    if (next) this.continueWith(next);
    else this.#sendDue();
  }

  /** Requests a page outside the plan, before all planned requests that are not in flight yet. */
  fetchUnplanned(request: PageRequest): Promise<ReceivedPage<T>> {
    this.#unplanned = this.#pendingPage(request);
    this.#sendDue();
    return this.#unplanned.result;
  }

  /** Begins with `request`. Drops all pages that are outstanding. */
  continueWith(request: PageRequest): void {
    for (const pending of this.#queue) pending.drop();
    this.#queue = [this.#pendingPage(request)];
    this.#sendDue();
  }

  /** Aborts all requests in flight. Nothing is requested afterwards. */
  close(): void {
    this.#closed = true;
    for (const pending of [...this.#queue, this.#unplanned]) pending?.drop();
  }

  #pendingPage(request: PageRequest): PendingPage<T> {
    const pending = new PendingPage<T>(request);
    if (this.#closed) pending.drop();
    return pending;
  }

  /** Sends all requests that may be sent now. */
  #sendDue(): void {
    if (this.#closed) return;
    for (const pending of [this.#unplanned, ...this.#queue.slice(0, this.#dueCount())]) {
      if (pending?.state === "planned" && this.#inFlight < this.#plan.maxInFlight) this.#send(pending);
    }
    while (this.#queue.length < this.#maxOutstanding && this.#inFlight < this.#plan.maxInFlight) {
      const request = this.#nextReadAhead();
      if (!request) return;
      const pending = this.#pendingPage(request);
      this.#queue.push(pending);
      this.#send(pending);
    }
  }

  /** How many of the planned pages may be requested now. */
  #dueCount(): number {
    if (this.#awaited) return Math.max(this.#maxOutstanding, 1);
    const isBeforeLimit =
      this.#taken === undefined || this.#plan.expectedEndOf(this.#taken.request) < this.#readAheadLimit;
    return isBeforeLimit ? this.#maxOutstanding : 0;
  }

  /** The next request to send before the consumer asks for its page, if there is one. */
  #nextReadAhead(): PageRequest | undefined {
    const tail = this.#queue.at(-1) ?? this.#taken;
    // `hasMore` takes precedence over the known end: the list may have grown.
    if (!tail || tail.page?.hasMore === false || this.#queue.some(({ state }) => state === "failed")) return undefined;
    const end = this.#plan.expectedEndOf(tail.request);
    if (end >= this.#readAheadLimit) return undefined;
    if (!tail.page && (this.#plan.maxInFlight === 1 || end >= this.#listEnd)) return undefined;
    return this.#plan.after(tail.request, tail.page);
  }

  #send(pending: PendingPage<T>): void {
    const { request } = pending;
    const slotKind = this.#requests > 0 ? "bulk" : "single";
    const requestedAt = this.#now;
    this.#requests += 1;
    this.#inFlight += 1;
    const fetch = async (signal: AbortSignal) => {
      const page = await this.#session.fetch(request, { slotKind, signal });
      this.#now += 1;
      this.#listEnd = page.totalCount;
      this.#plan.noteAppliedSize(request, page);
      return { request, page, requestedAt, receivedAt: this.#now };
    };
    // `send` never rejects.
    void pending.send(fetch).then(() => {
      this.#inFlight -= 1;
      this.#sendDue();
    });
  }
}

/** One page that was requested or will be. A failure is kept until the page is next, so no rejection is unhandled. */
class PendingPage<T> {
  /** `failed` also means dropped. Neither that nor `received` changes any more. */
  state: "planned" | "sent" | "received" | "failed" = "planned";
  /** The response, once it was received. */
  page: Page<T> | undefined;
  readonly result: Promise<ReceivedPage<T>>;
  readonly #abort = new AbortController();
  #arrival!: { resolve(received: ReceivedPage<T>): void; reject(reason: unknown): void };

  constructor(readonly request: PageRequest) {
    this.result = new Promise((resolve, reject) => {
      this.#arrival = { resolve, reject };
    });
    this.result.catch(() => {});
  }

  /** Sends the request. Resolves when it has ended, whether it failed or not. */
  async send(fetch: (signal: AbortSignal) => Promise<ReceivedPage<T>>): Promise<void> {
    this.state = "sent";
    try {
      const received = await fetch(this.#abort.signal);
      if (this.#hasEnded) return;
      this.state = "received";
      this.page = received.page;
      this.#arrival.resolve(received);
    } catch (reason) {
      this.#fail(reason);
    }
  }

  /** Ends the request. Callers that wait for the page are rejected immediately, even if `fetch` ignores the signal. */
  drop(): void {
    if (this.#hasEnded) return;
    this.#fail(new PaginationError("The iteration has ended."));
    this.#abort.abort();
  }

  get #hasEnded(): boolean {
    return this.state === "received" || this.state === "failed";
  }

  #fail(reason: unknown): void {
    this.state = "failed";
    this.#arrival.reject(reason);
  }
}
