import { Delivery } from "./delivery.js";
import { readGapless } from "./gapless.js";
import { GaplessPlan } from "./gapless-plan.js";
import type { Page, PageSource } from "./page.js";
import { PageStream } from "./page-stream.js";
import { PlainPlan, readPlain } from "./plain.js";

const DONE = { done: true, value: undefined } as const;

/**
 * The pages of a list, one after the other. Nothing is checked or requested before the first `next()`.
 *
 * An async generator would keep `return()` waiting for a `next()` that is pending; here it aborts the request.
 */
export class PageIterator<T> implements AsyncIterableIterator<Page<T>, undefined, undefined> {
  readonly #source: PageSource<T>;
  readonly #limit: number;
  #stream: PageStream<T> | undefined;
  #pages: AsyncGenerator<Page<T>, void> | undefined;
  #closed = false;

  /** `limit`: how many records are wanted; no page is read ahead for more. */
  constructor(source: PageSource<T>, limit = Number.POSITIVE_INFINITY) {
    this.#source = source;
    this.#limit = limit;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Page<T>, undefined>> {
    if (this.#closed) return DONE;
    try {
      this.#pages ??= this.#open();
      const result = await this.#pages.next();
      if (result.done !== true && !this.#closed) return result;
      this.#close();
      return DONE;
    } catch (error) {
      // What fails because the iteration was ended has no one to tell.
      if (this.#closed) return DONE;
      this.#close();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Page<T>, undefined>> {
    this.#close();
    await this.#pages?.return();
    return DONE;
  }

  async throw(error: unknown): Promise<IteratorResult<Page<T>, undefined>> {
    await this.return();
    throw error;
  }

  #open(): AsyncGenerator<Page<T>, void> {
    const source = this.#source;
    const settings = source.prepare();
    const { page, pageSize, maxPageSize } = settings;
    const plan = settings.gapless ? new GaplessPlan(settings) : new PlainPlan();
    const horizon = (page - 1) * Math.min(pageSize, maxPageSize) + this.#limit;
    const stream = new PageStream({ source, settings, plan, horizon });
    this.#stream = stream;
    stream.restart({ page, pageSize });
    const delivery = new Delivery(settings, () => stream.requests);
    return plan instanceof GaplessPlan ? readGapless(stream, delivery, plan) : readPlain(stream, delivery);
  }

  #close(): void {
    this.#closed = true;
    this.#stream?.close();
  }
}
