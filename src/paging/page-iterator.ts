import type { Checkpoint } from "./checkpoint.js";
import { createDelivery, type Given } from "./delivery.js";
import { createEta, type Eta } from "./eta.js";
import { readGapless } from "./gapless.js";
import { GaplessPlan } from "./gapless-plan.js";
import type { Page, PageSource } from "./page.js";
import { createPageStream, type PageStream } from "./page-stream.js";
import { PlainPlan, readPlain } from "./plain.js";

const DONE = { done: true, value: undefined } as const;

/** An iteration over the pages of a list. */
export interface PageIterator<T> extends AsyncIterableIterator<Page<T>, undefined, undefined> {
  /** How far the consumer has come: with all pages but the one that it holds. */
  readonly checkpoint: Checkpoint | undefined;
}

/**
 * The pages of a list, one after the other. Nothing is checked or requested before the first `next()`.
 *
 * An async generator would keep `return()` waiting for a `next()` that is pending; here it aborts the request.
 *
 * `started` is called at the first `next()`; `limit`: how many records are wanted, no page is read ahead for more.
 */
export function iteratePages<T>(
  source: PageSource<T>,
  started: (iterator: PageIterator<T>) => void,
  limit = Infinity,
): PageIterator<T> {
  let stream: PageStream<T> | undefined;
  let pages: AsyncGenerator<Given<T>, void> | undefined;
  let eta: Eta | undefined;
  let closed = false;
  /** How far the consumer has come, and will have come with the page that it holds. */
  let consumed: Checkpoint | undefined;
  let held: Checkpoint | undefined;

  const iterator: PageIterator<T> = {
    get checkpoint() {
      return consumed;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (closed) return DONE;
      try {
        pages ??= open();
        // The consumer is done with the page that it held.
        consumed = held ?? consumed;
        eta?.asked();
        const result = await pages.next();
        if (result.done !== true && !closed) {
          held = result.value.checkpoint;
          eta?.given();
          return { done: false, value: result.value.page };
        }
        if (!closed && consumed) consumed = { ...consumed, done: true };
        close();
        return DONE;
      } catch (error) {
        // What fails because the iteration was ended has no one to tell.
        if (closed) return DONE;
        close();
        throw error;
      }
    },
    async return() {
      close();
      await pages?.return();
      return DONE;
    },
    async throw(error) {
      await this.return?.();
      throw error;
    },
  };
  return iterator;

  function close(): void {
    closed = true;
    stream?.close();
  }

  function open(): AsyncGenerator<Given<T>, void> {
    const settings = source.prepare();
    const { page, pageSize, maxPageSize, from } = settings;
    started(iterator);
    consumed = from;
    const plan = settings.gapless
      ? new GaplessPlan(from ? { ...settings, pageSize: from.pageSize } : settings)
      : new PlainPlan();
    const begin = from ? from.end : (page - 1) * Math.min(pageSize, maxPageSize);
    const opened = createPageStream({ source, settings, plan, horizon: begin + limit });
    stream = opened;
    eta = createEta(() => source.pace(), settings);
    const delivery = createDelivery(settings, opened, eta);
    if (plan instanceof GaplessPlan) {
      opened.restart(from ? plan.from(from.end) : { page, pageSize });
      return readGapless(opened, delivery, plan, from);
    }
    opened.restart({ page: from ? Math.floor(from.end / from.pageSize) + 1 : page, pageSize });
    return readPlain(opened, delivery, from);
  }
}
