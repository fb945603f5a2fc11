import { untilAborted } from "../../shared/time/wait.js";
import type { Page, PageRequest, PageSession } from "./page.js";

/** A page that was requested, perhaps ahead of its turn. */
export interface RequestedPage<T> {
  request: PageRequest;
  response: Promise<Page<T>>;
  abort: AbortController;
}

/** The requests of one iteration, in the order of the list, and how many of them may be outstanding. */
export class PageRequests<T> {
  #outstanding: RequestedPage<T>[] = [];
  #hasRequested = false;
  /** How many requests may be outstanding. While pages overlap, this is 1 at first and after `drop`. */
  #width: number;
  /** The upper limit of `#width`. Each `drop` halves it. */
  #maxWidth: number;

  constructor(private readonly session: PageSession<T>) {
    this.#maxWidth = session.readAhead;
    this.#width = session.gapless ? Math.min(1, session.readAhead) : session.readAhead;
  }

  /** The page whose turn is next. It may be awaited at the moment. */
  get next(): RequestedPage<T> | undefined {
    return this.#outstanding[0];
  }

  get last(): RequestedPage<T> | undefined {
    return this.#outstanding.at(-1);
  }

  get mayRequest(): boolean {
    return this.#outstanding.length < this.#width;
  }

  request(request: PageRequest): RequestedPage<T> {
    const abort = new AbortController();
    const isFurther = this.#hasRequested;
    this.#hasRequested = true;
    const { signal } = abort;
    const response = untilAborted(signal, this.session.fetch(request, { isFurther, signal }));
    // A failure is reported when it is this page's turn.
    response.catch(() => {});
    const requested = { request, response, abort };
    this.#outstanding.push(requested);
    return requested;
  }

  shift(): void {
    this.#outstanding.shift();
  }

  widen(): void {
    this.#width = Math.min(this.#width + 1, this.#maxWidth);
  }

  /** Aborts all outstanding requests: the list has moved, or the iteration ends. */
  drop(): void {
    for (const { abort } of this.#outstanding) abort.abort();
    this.#outstanding = [];
    this.#maxWidth = Math.ceil(this.#maxWidth / 2);
    this.#width = Math.min(1, this.#maxWidth);
  }
}
