import { PaginationError } from "../errors/index.js";
import type { Page, PageRequest } from "./page.js";
import type { PageRead } from "./position.js";

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
