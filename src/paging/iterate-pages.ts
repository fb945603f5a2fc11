import { errorForWaiter } from "../core/response/caller-error.js";
import type { Checkpoint } from "./checkpoint.js";
import { createEmitter, type Emitted } from "./emitter.js";
import { createEta, type Eta } from "./estimate.js";
import type { Page, PageSource, PagingSettings } from "./page.js";
import { createPageStream, type OpenStream, type PageStream } from "./prefetch.js";
import { readSequentially } from "./sequential.js";

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
  let pages: AsyncGenerator<Emitted<T>, void> | undefined;
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
        eta?.pageRequested();
        const result = await pages.next();
        if (result.done !== true && !closed) {
          held = result.value.checkpoint;
          eta?.pageEmitted();
          return { done: false, value: result.value.page };
        }
        if (!closed && consumed) consumed = { ...consumed, done: true };
        close();
        return DONE;
      } catch (error) {
        // What fails because the iteration was ended has no one to tell.
        if (closed) return DONE;
        close();
        throw errorForWaiter(error);
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

  function open(): AsyncGenerator<Emitted<T>, void> {
    const session = source.prepare();
    const { page, pageSize, maxPageSize, gapless, from } = session;
    started(iterator);
    consumed = from;
    const begin = from ? from.end : (page - 1) * Math.min(pageSize, maxPageSize);
    const pace = createEta(() => session.pace(), session);
    eta = pace;
    const start: OpenStream<T> = (plan, first) => {
      const opened = createPageStream({ session, plan, readAheadLimit: begin + limit });
      stream = opened;
      if (closed) opened.close();
      opened.restart(first);
      return { stream: opened, emitter: createEmitter(session, opened, pace) };
    };
    return gapless ? readLazily(session, start) : readSequentially(session, start);
  }
}

/** Reading without gaps is loaded when it is first asked for: most iterations do without. */
async function* readLazily<T>(settings: PagingSettings<T>, start: OpenStream<T>): AsyncGenerator<Emitted<T>, void> {
  const { readGapless } = await import("./gapless/reader.js");
  yield* readGapless(settings, start);
}
