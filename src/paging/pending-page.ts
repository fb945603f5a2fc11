import { PaginationError } from "../errors/index.js";
import type { Page, PageRequest } from "./page.js";
import type { PageRead } from "./position.js";

type Outcome<T> = { read: PageRead<T> } | { reason: unknown };

/** One page that was asked for or is about to be. A failure is kept until its turn comes, so no rejection goes unhandled. */
export class PendingPage<T> {
  readonly request: PageRequest;
  sent = false;
  #outcome: Outcome<T> | undefined;
  readonly #abort = new AbortController();
  readonly #settled: Promise<void>;
  #markSettled: () => void = () => {};

  constructor(request: PageRequest) {
    this.request = request;
    this.#settled = new Promise((resolve) => {
      this.#markSettled = resolve;
    });
  }

  /** The answer, once it has come. */
  get page(): Page<T> | undefined {
    return this.#outcome !== undefined && "read" in this.#outcome ? this.#outcome.read.page : undefined;
  }

  get failed(): boolean {
    return this.#outcome !== undefined && "reason" in this.#outcome;
  }

  /** Sends the request; resolves when it is over, however it ended. */
  async send(fetch: (signal: AbortSignal) => Promise<PageRead<T>>): Promise<void> {
    this.sent = true;
    try {
      this.#settle({ read: await fetch(this.#abort.signal) });
    } catch (reason) {
      this.#settle({ reason });
    }
  }

  /** Ends the request. Who waits for the page is told at once, even if the fetch does not heed the signal. */
  drop(): void {
    if (this.#outcome !== undefined) return;
    this.#settle({ reason: new PaginationError("The iteration has ended.") });
    if (this.sent) this.#abort.abort();
  }

  async result(): Promise<PageRead<T>> {
    await this.#settled;
    if (this.#outcome !== undefined && "read" in this.#outcome) return this.#outcome.read;
    throw this.#outcome?.reason;
  }

  #settle(outcome: Outcome<T>): void {
    this.#outcome ??= outcome;
    this.#markSettled();
  }
}
