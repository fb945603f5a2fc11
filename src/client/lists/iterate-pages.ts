import type { Checkpoint } from "./checkpoint.js";
import type { EmittedPage } from "./emitter.js";
import { EtaEstimator } from "./estimate.js";
import { GaplessReader } from "./gapless/reader.js";
import type { IterationSession, Page, PrepareSession } from "./page.js";
import { SequentialReader } from "./sequential.js";

export const ITERATION_DONE = { done: true, value: undefined } as const;

/** An iteration over the pages of a list. */
export interface PageIterator<T> extends AsyncIterableIterator<Page<T>, undefined, undefined> {
  /** The progress of the consumer: it has processed all pages except the one that it holds. */
  readonly checkpoint: Checkpoint | undefined;
}

/**
 * The pages of a list, one after the other. Nothing is checked or requested before the first `next()`.
 *
 * `return()` aborts the request that a pending `next()` waits for. In an async generator it would wait for that `next()`.
 *
 * `onStart` is called at the first `next()`. `limit`: see {@link IterationSession}.
 */
export function iteratePages<T>(
  prepare: PrepareSession<T>,
  onStart: (iterator: PageIterator<T>) => void,
  limit = Infinity,
): PageIterator<T> {
  let reader: SequentialReader<T> | GaplessReader<T> | undefined;
  let pages: AsyncGenerator<EmittedPage<T>, void> | undefined;
  let eta: EtaEstimator | undefined;
  let closed = false;
  /** Where to resume after the pages that the consumer has processed, and after the page that it holds. */
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
      if (closed) return ITERATION_DONE;
      try {
        pages ??= start();
        // The consumer has processed the page that it held.
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
        return ITERATION_DONE;
      } catch (error) {
        // No caller is interested in a failure after the end of the iteration.
        if (closed) return ITERATION_DONE;
        close();
        throw error;
      }
    },
    async return() {
      close();
      await pages?.return();
      return ITERATION_DONE;
    },
    async throw(error) {
      await this.return?.();
      throw error;
    },
  };
  return iterator;

  function start(): AsyncGenerator<EmittedPage<T>, void> {
    const prepared = prepare();
    onStart(iterator);
    consumed = prepared.from;
    eta = new EtaEstimator(prepared);
    const session: IterationSession<T> = { ...prepared, limit, eta };
    reader = session.gapless ? new GaplessReader(session) : new SequentialReader(session);
    return reader.pages();
  }

  function close(): void {
    closed = true;
    reader?.close();
  }
}
