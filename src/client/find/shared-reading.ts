import { callSafely } from "../../shared/time/callback.js";
import { SharedWork } from "../../shared/time/shared-work.js";
import { nextTurn } from "../../shared/time/turn.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";

/** A reading that has not begun yet. */
interface Waiting<T> {
  above: number;
  isTaken: boolean;
  readonly work: SharedWork<{ value: T; response: ResponseInfo | undefined }>;
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
    const found = this.#waiting.get(key);
    const shared = found && !found.work.isAborted ? found : this.#begin(key, above, settings, read);
    shared.above = Math.min(shared.above, above);
    const { value, response } = await shared.work.wait(signal);
    // Only the first caller counts the requests.
    const attempts = shared.isTaken ? 0 : (response?.attempts ?? 0);
    if (response && onResponse) callSafely(() => onResponse({ ...response, attempts }));
    shared.isTaken = true;
    return value;
  }

  #begin(
    key: string,
    above: number,
    settings: RequestOptions,
    read: (above: number, options: RequestOptions) => Promise<T>,
  ): Waiting<T> {
    let response: ResponseInfo | undefined;
    const work = new SharedWork(async (lifetime) => {
      await this.#running.get(key)?.catch(() => {});
      await nextTurn();
      if (this.#waiting.get(key) === waiting) this.#waiting.delete(key);
      lifetime.throwIfAborted();
      const note = (last: ResponseInfo) => {
        response = last;
      };
      const reading = read(waiting.above, { ...settings, signal: lifetime.signal, onResponse: note });
      this.#running.set(key, reading);
      try {
        return { value: await reading, response };
      } finally {
        if (this.#running.get(key) === reading) this.#running.delete(key);
      }
    });
    const waiting: Waiting<T> = { above, isTaken: false, work };
    this.#waiting.set(key, waiting);
    return waiting;
  }
}
