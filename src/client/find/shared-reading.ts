import { onAbort } from "../../shared/time/abort.js";
import { callSafely } from "../../shared/time/callback.js";
import { nextTurn } from "../../shared/time/turn.js";
import { untilAborted } from "../../shared/time/wait.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";

/** A reading that has not begun yet. */
interface Waiting<T> {
  above: number;
  readers: number;
  readonly abort: AbortController;
  readonly result: Promise<{ value: T; response: ResponseInfo | undefined }>;
  isTaken: boolean;
}

/**
 * Shares one reading between all look-ups that are due at the same time. A look-up that begins while a reading is under
 * way waits for the next reading, because the present reading may show an older state than the look-up needs.
 */
export class SharedReading<T> {
  /** Readings that have not begun, by the options that affect their requests. */
  readonly #waiting = new Map<string, Waiting<T>>();
  readonly #running = new Map<string, Promise<unknown>>();

  /** Joins a reading. `read` is called with the lowest `above` of all callers. Each caller keeps its signal and `onResponse`. */
  async read(
    above: number,
    options: RequestOptions,
    read: (above: number, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const { signal, onResponse, beforeSend: _, ...settings } = options;
    signal?.throwIfAborted();
    const key = JSON.stringify(settings, (_name, value) => (value === Infinity ? "Infinity" : value));
    let batch = this.#waiting.get(key);
    if (!batch) {
      batch = this.#begin(key, above, settings, read);
      this.#waiting.set(key, batch);
    }
    batch.above = Math.min(batch.above, above);
    const { abort, result } = batch;
    batch.readers += 1;
    const shared = batch;
    const leave = () => {
      shared.readers -= 1;
      if (shared.readers === 0) abort.abort(signal?.reason);
    };
    const stop = signal ? onAbort(signal, leave) : () => {};
    try {
      const { value, response } = await (signal ? untilAborted(signal, result) : result);
      // Only the first caller counts the requests.
      const attempts = shared.isTaken ? 0 : (response?.attempts ?? 0);
      if (response && onResponse) callSafely(() => onResponse({ ...response, attempts }));
      shared.isTaken = true;
      return value;
    } finally {
      stop();
    }
  }

  #begin(
    key: string,
    above: number,
    settings: RequestOptions,
    read: (above: number, options: RequestOptions) => Promise<T>,
  ): Waiting<T> {
    const abort = new AbortController();
    let response: ResponseInfo | undefined;
    const begun: Omit<Waiting<T>, "result"> = { above, readers: 0, abort, isTaken: false };
    const run = async () => {
      await this.#running.get(key)?.catch(() => {});
      await nextTurn();
      this.#waiting.delete(key);
      const note = (last: ResponseInfo) => {
        response = last;
      };
      const reading = read(begun.above, { ...settings, signal: abort.signal, onResponse: note });
      this.#running.set(key, reading);
      try {
        return { value: await reading, response };
      } finally {
        if (this.#running.get(key) === reading) this.#running.delete(key);
      }
    };
    const batch = Object.assign(begun, { result: run() });
    batch.result.catch(() => {});
    return batch;
  }
}
