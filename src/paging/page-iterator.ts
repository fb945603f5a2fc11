import type { Checkpoint } from "./checkpoint.js";
import { Delivery, type Given } from "./delivery.js";
import { Eta } from "./eta.js";
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
  readonly #started: (iterator: PageIterator<T>) => void;
  readonly #limit: number;
  #stream: PageStream<T> | undefined;
  #pages: AsyncGenerator<Given<T>, void> | undefined;
  #closed = false;
  /** How far the consumer has come, and will have come with the page that it holds. */
  #consumed: Checkpoint | undefined;
  #held: Checkpoint | undefined;
  #eta: Eta | undefined;

  /** `started` is called at the first `next()`; `limit`: how many records are wanted, no page is read ahead for more. */
  constructor(source: PageSource<T>, started: (iterator: PageIterator<T>) => void, limit = Number.POSITIVE_INFINITY) {
    this.#source = source;
    this.#started = started;
    this.#limit = limit;
  }

  /** How far the consumer has come: with all pages but the one that it holds. */
  get checkpoint(): Checkpoint | undefined {
    return this.#consumed;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Page<T>, undefined>> {
    if (this.#closed) return DONE;
    try {
      this.#pages ??= this.#open();
      this.#letGo();
      const result = await this.#pages.next();
      if (result.done !== true && !this.#closed) {
        this.#held = result.value.checkpoint;
        this.#eta?.given();
        return { done: false, value: result.value.page };
      }
      if (!this.#closed && this.#consumed) this.#consumed = { ...this.#consumed, done: true };
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

  #open(): AsyncGenerator<Given<T>, void> {
    const source = this.#source;
    const settings = source.prepare();
    const { page, pageSize, maxPageSize, from } = settings;
    this.#started(this);
    this.#consumed = from;
    const plan = settings.gapless
      ? new GaplessPlan(from ? { ...settings, pageSize: from.pageSize } : settings)
      : new PlainPlan();
    const begin = from ? from.end : (page - 1) * Math.min(pageSize, maxPageSize);
    const stream = new PageStream({ source, settings, plan, horizon: begin + this.#limit });
    this.#stream = stream;
    const eta = new Eta(() => source.pace(), settings);
    this.#eta = eta;
    const delivery = new Delivery(settings, stream, eta);
    if (plan instanceof GaplessPlan) {
      stream.restart(from ? plan.from(from.end) : { page, pageSize });
      return readGapless(stream, delivery, plan, from);
    }
    stream.restart({ page: from ? Math.floor(from.end / from.pageSize) + 1 : page, pageSize });
    return readPlain(stream, delivery, from);
  }

  /** The consumer is done with the page that it held. */
  #letGo(): void {
    this.#consumed = this.#held ?? this.#consumed;
    this.#eta?.asked();
  }

  #close(): void {
    this.#closed = true;
    this.#stream?.close();
  }
}
