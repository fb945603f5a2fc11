import { PaginationError } from "../errors/index.js";
import type { Emitter } from "./emitter.js";
import type { Page, PageRead, PageRequest, PageSession } from "./page.js";

export interface PageStreamOptions<T> {
  session: Pick<PageSession<T>, "readAhead" | "concurrency" | "fetch">;
  plan: PagePlan;
  /** Nothing at or beyond this position is read ahead. */
  readAheadLimit: number;
}

/**
 * Reads the pages of a plan ahead of their consumer and hands them out in the order of the plan.
 *
 * At most `concurrency` requests are in flight, and at most `max(readAhead, concurrency)` pages are outstanding beyond the
 * one the consumer holds. One page at a time is planned from the answer before it; several, from the known end of the list.
 */
export interface PageStream<T> {
  /** Requests made so far. */
  readonly requests: number;
  /** Answers that have come so far. */
  readonly answers: number;
  /** How many requests may be in flight at the moment: from 1 to `concurrency`, which it is to begin with. */
  pace: number;
  /** The requests that are planned already, that of the next page first. */
  readonly planned: PageRequest[];
  /** The next page, which stays the next page until it is taken. Rejects with the error of its request. */
  peek(): Promise<PageRead<T>>;
  /** The consumer now holds the page that was next, so one more may be read ahead. `then` is to follow instead of the plan. */
  take(then?: PageRequest): void;
  /** Reads a page out of turn, before anything else that is not in flight yet. */
  read(request: PageRequest): Promise<PageRead<T>>;
  /** Drops what is outstanding and goes on with `request`. */
  restart(request: PageRequest): void;
  /** Aborts what is outstanding. Nothing is requested afterwards. */
  close(): void;
}

export function createPageStream<T>({ session, plan, readAheadLimit }: PageStreamOptions<T>): PageStream<T> {
  const { readAhead, concurrency } = session;
  const ahead = concurrency > 1 ? Math.max(readAhead, concurrency) : readAhead;
  let pace = concurrency;
  let queue: PendingPage<T>[] = [];
  let taken: PendingPage<T> | undefined;
  let outOfTurn: PendingPage<T> | undefined;
  let requests = 0;
  let inFlight = 0;
  let answers = 0;
  let knownEnd = 0;
  /** True while the consumer waits for the next page, which is then due even if nothing may be read ahead. */
  let awaited = false;
  let closed = false;

  return {
    get requests() {
      return requests;
    },
    get answers() {
      return answers;
    },
    get pace() {
      return pace;
    },
    set pace(wanted) {
      pace = Math.max(1, Math.min(wanted, concurrency));
    },
    get planned() {
      return queue.map(({ request }) => request);
    },
    peek() {
      awaited = true;
      if (queue.length === 0 && taken?.page) queue.push(pendingFor(plan.after(taken.request, taken.page)));
      pump();
      return queue[0]?.result ?? Promise.reject(new RangeError("Nothing was planned."));
    },
    take(then) {
      taken = queue.shift();
      awaited = false;
      if (then) restart(then);
      else pump();
    },
    read(request) {
      outOfTurn = pendingFor(request);
      pump();
      return outOfTurn.result;
    },
    restart,
    close() {
      closed = true;
      for (const pending of [...queue, outOfTurn]) pending?.drop();
    },
  };

  function restart(request: PageRequest): void {
    for (const pending of queue) pending.drop();
    queue = [pendingFor(request)];
    pump();
  }

  function pendingFor(request: PageRequest): PendingPage<T> {
    const pending = new PendingPage<T>(request);
    if (closed) pending.drop();
    return pending;
  }

  /** Sends what may be sent now. */
  function pump(): void {
    if (closed) return;
    for (const pending of [outOfTurn, ...queue.slice(0, due())]) {
      if (pending?.sent === false && inFlight < pace) send(pending);
    }
    while (queue.length < ahead && inFlight < pace) {
      const request = further();
      if (!request) return;
      const pending = pendingFor(request);
      queue.push(pending);
      send(pending);
    }
  }

  /** How many of the planned pages may be requested now. */
  function due(): number {
    if (awaited) return Math.max(ahead, 1);
    return taken === undefined || plan.endOf(taken.request) < readAheadLimit ? ahead : 0;
  }

  /** The next request to make before the consumer asks for it, if there is one. */
  function further(): PageRequest | undefined {
    const tail = queue.at(-1) ?? taken;
    // What the last answer says counts for more than the known end: the list may have grown.
    if (!tail || tail.page?.hasMore === false || queue.some(({ failed }) => failed)) return undefined;
    const reach = plan.endOf(tail.request);
    if (reach >= readAheadLimit || (!tail.page && (pace === 1 || reach >= knownEnd))) return undefined;
    return plan.after(tail.request, tail.page);
  }

  function send(pending: PendingPage<T>): void {
    const { request } = pending;
    const context = { further: requests > 0 };
    const sentAt = answers;
    requests += 1;
    inFlight += 1;
    const fetch = async (signal: AbortSignal) => {
      const page = await session.fetch(request, { ...context, signal });
      answers += 1;
      knownEnd = page.totalCount;
      plan.noteAppliedSize(request, page);
      return { request, page, sentAt, arrivedAt: answers };
    };
    // `send` never rejects.
    void pending.send(fetch).then(() => {
      inFlight -= 1;
      pump();
    });
  }
}

/** One page that was asked for or is about to be. A failure is kept until its turn comes, so no rejection goes unhandled. */
export class PendingPage<T> {
  sent = false;
  /** The request has failed, or was dropped. */
  failed = false;
  /** The answer, once it has come. */
  page: Page<T> | undefined;
  readonly #abort = new AbortController();
  readonly result: Promise<PageRead<T>>;
  #settle!: { resolve(read: PageRead<T>): void; reject(reason: unknown): void };

  constructor(readonly request: PageRequest) {
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.result.catch(() => {});
  }

  /** Sends the request; resolves when it is over, however it ended. */
  async send(fetch: (signal: AbortSignal) => Promise<PageRead<T>>): Promise<void> {
    this.sent = true;
    try {
      const read = await fetch(this.#abort.signal);
      if (this.failed) return;
      this.page = read.page;
      this.#settle.resolve(read);
    } catch (reason) {
      this.#fail(reason);
    }
  }

  /** Ends the request. Who waits for the page is told at once, even if the fetch does not heed the signal. */
  drop(): void {
    if (this.page || this.failed) return;
    this.#fail(new PaginationError("The iteration has ended."));
    if (this.sent) this.#abort.abort();
  }

  #fail(reason: unknown): void {
    this.failed = true;
    this.#settle.reject(reason);
  }
}

/** Which page follows which. */
export interface PagePlan {
  /** The request after `request`, whose answer is `page` if it has come already. */
  after(request: PageRequest, page: Page<unknown> | undefined): PageRequest;
  /** Position where the page of `request` ends, as far as is known. */
  endOf(request: PageRequest): number;
  /** Called with each answer as it comes, before anything further is planned. */
  noteAppliedSize(request: PageRequest, page: Page<unknown>): void;
}

/** Begins to read by a plan, at its first request. */
export type OpenStream<T> = (plan: PagePlan, first: PageRequest) => { stream: PageStream<T>; emitter: Emitter<T> };
