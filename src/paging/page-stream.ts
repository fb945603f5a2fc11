import type { PageRequest, PageSource, PagingSettings } from "./page.js";
import type { PagePlan } from "./page-plan.js";
import { PendingPage } from "./pending-page.js";
import type { PageRead } from "./position.js";

export interface PageStreamOptions<T> {
  source: PageSource<T>;
  settings: Pick<PagingSettings<T>, "readAhead" | "concurrency">;
  plan: PagePlan;
  /** Nothing at or beyond this position is read ahead. */
  horizon: number;
}

/**
 * Reads the pages of a plan ahead of their consumer and hands them out in the order of the plan.
 *
 * At most `concurrency` requests are in flight, and at most `max(readAhead, concurrency)` pages are outstanding beyond the
 * one the consumer holds. One page at a time is planned from the answer before it; several, from the known end of the list.
 */
export class PageStream<T> {
  /** Requests made so far. */
  requests = 0;

  readonly #options: PageStreamOptions<T>;
  readonly #window: number;
  #pace: number;
  #queue: PendingPage<T>[] = [];
  #taken: PendingPage<T> | undefined;
  #outOfTurn: PendingPage<T> | undefined;
  #inFlight = 0;
  #answers = 0;
  #knownEnd: number | undefined;
  /** True while the consumer waits for the next page, which is then due even if nothing may be read ahead. */
  #awaited = false;
  #closed = false;

  constructor(options: PageStreamOptions<T>) {
    this.#options = options;
    const { readAhead, concurrency } = options.settings;
    this.#pace = concurrency;
    this.#window = concurrency > 1 ? Math.max(readAhead, concurrency) : readAhead;
  }

  /** How many requests may be in flight at the moment: from 1 to `concurrency`, which it is to begin with. */
  get pace(): number {
    return this.#pace;
  }

  set pace(requests: number) {
    this.#pace = Math.max(1, Math.min(requests, this.#options.settings.concurrency));
  }

  /** Answers that have come so far. */
  get answers(): number {
    return this.#answers;
  }

  /** The requests that are planned already, that of the next page first. */
  get planned(): PageRequest[] {
    return this.#queue.map(({ request }) => request);
  }

  /** The next page, which stays the next page until it is taken. Rejects with the error of its request. */
  peek(): Promise<PageRead<T>> {
    const tail = this.#taken;
    this.#awaited = true;
    if (this.#queue.length === 0 && tail?.page !== undefined) {
      this.#plan(this.#options.plan.after(tail.request, tail.page));
    }
    this.#pump();
    const head = this.#queue[0];
    return head === undefined ? Promise.reject(new RangeError("Nothing was planned.")) : head.result();
  }

  /** The consumer now holds the page that was next, so one more may be read ahead. `then` is to follow instead of the plan. */
  take(then?: PageRequest): void {
    this.#taken = this.#queue.shift();
    this.#awaited = false;
    if (then === undefined) this.#pump();
    else this.restart(then);
  }

  /** Reads a page out of turn, before anything else that is not in flight yet. */
  async read(request: PageRequest): Promise<PageRead<T>> {
    const pending = new PendingPage<T>(request);
    this.#outOfTurn = pending;
    if (this.#closed) pending.drop();
    this.#pump();
    return await pending.result();
  }

  /** Drops what is outstanding and goes on with `request`. */
  restart(request: PageRequest): void {
    for (const pending of this.#queue) pending.drop();
    this.#queue = [];
    this.#plan(request);
  }

  /** Aborts what is outstanding. Nothing is requested afterwards. */
  close(): void {
    this.#closed = true;
    for (const pending of this.#queue) pending.drop();
    this.#outOfTurn?.drop();
  }

  #plan(request: PageRequest): void {
    const pending = new PendingPage<T>(request);
    if (this.#closed) pending.drop();
    this.#queue.push(pending);
    this.#pump();
  }

  /** Sends what may be sent now. */
  #pump(): void {
    if (this.#closed) return;
    if (this.#outOfTurn?.sent === false && this.#inFlight < this.#pace) this.#send(this.#outOfTurn);
    for (const pending of this.#queue.slice(0, this.#due())) {
      if (!pending.sent && this.#inFlight < this.#pace) this.#send(pending);
    }
    while (this.#queue.length < this.#window && this.#inFlight < this.#pace) {
      const request = this.#ahead();
      if (request === undefined) return;
      const pending = new PendingPage<T>(request);
      this.#queue.push(pending);
      this.#send(pending);
    }
  }

  /** How many of the planned pages may be requested now. */
  #due(): number {
    if (this.#awaited) return Math.max(this.#window, 1);
    const { plan, horizon } = this.#options;
    return this.#taken === undefined || plan.reach(this.#taken.request) < horizon ? this.#window : 0;
  }

  /** The next request to make before the consumer asks for it, if there is one. */
  #ahead(): PageRequest | undefined {
    const { plan, horizon } = this.#options;
    const tail = this.#queue.at(-1) ?? this.#taken;
    if (tail === undefined || this.#queue.some((pending) => pending.failed)) return undefined;
    // What the last answer says counts for more than the known end: the list may have grown.
    if (tail.page?.hasMore === false) return undefined;
    const reach = plan.reach(tail.request);
    if (reach >= horizon) return undefined;
    if (tail.page === undefined && (this.#pace === 1 || reach >= (this.#knownEnd ?? 0))) return undefined;
    return plan.after(tail.request, tail.page);
  }

  #send(pending: PendingPage<T>): void {
    const { source } = this.#options;
    const further = this.requests > 0;
    const sentAt = this.#answers;
    this.requests += 1;
    this.#inFlight += 1;
    const fetch = async (signal: AbortSignal) => {
      const page = await source.fetch(pending.request, { further, signal });
      this.#answers += 1;
      this.#knownEnd = page.totalCount;
      this.#options.plan.learn(pending.request, page);
      return { request: pending.request, page, sentAt, arrivedAt: this.#answers };
    };
    // `send` never rejects.
    void pending.send(fetch).then(() => {
      this.#inFlight -= 1;
      this.#pump();
    });
  }
}
