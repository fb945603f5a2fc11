import type { Lifetime } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { race, whenAborted } from "../../shared/time/wait.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import type { ClientRequester, RequestGroup } from "../send/requester.js";

interface WholeReading<T> {
  readonly abort: AbortController;
  readonly startedAt: number;
  readonly epoch: number;
  readonly result: Promise<T>;
  last: ResponseInfo | undefined;
  callers: number;
}

/** A caller who needs a whole list. */
export interface WholeReader {
  lifetime: Lifetime;
  /** The options of the requests, if this caller begins the reading. */
  options: RequestOptions;
  /** When its call began, by the monotonic clock. */
  startedAt: number;
  maxAgeMs: number;
  note(response: ResponseInfo): void;
}

/**
 * Shares readings of whole lists. A caller joins a reading if the call began before the reading did, or if the reading
 * is not older than `maxAgeMs`. After a write of this client, no caller joins. A reading is aborted when its last
 * caller has left.
 */
export class WholeReadings<T> {
  readonly #readings = new Map<string, WholeReading<T>>();

  constructor(private readonly requester: ClientRequester) {}

  async read(key: string, caller: WholeReader, run: (group: RequestGroup) => Promise<T>): Promise<T> {
    const found = this.#readings.get(key);
    const reading = found && this.#isJoinable(found, caller) ? found : this.#begin(key, caller, run);
    reading.callers += 1;
    try {
      return await race(reading.result, whenAborted(caller.lifetime));
    } finally {
      if (reading.last && !caller.lifetime.aborted) caller.note(reading.last);
      reading.callers -= 1;
      if (reading.callers === 0) {
        if (this.#readings.get(key) === reading) this.#readings.delete(key);
        reading.abort.abort(caller.lifetime.reason);
      }
    }
  }

  #isJoinable({ abort, startedAt, epoch }: WholeReading<T>, caller: WholeReader): boolean {
    if (abort.signal.aborted || epoch !== this.requester.writes.epoch) return false;
    return startedAt >= caller.startedAt || monotonicNowMs() - startedAt <= caller.maxAgeMs;
  }

  #begin(key: string, { options }: WholeReader, run: (group: RequestGroup) => Promise<T>): WholeReading<T> {
    const abort = new AbortController();
    const begun: Omit<WholeReading<T>, "result"> = {
      abort,
      startedAt: monotonicNowMs(),
      epoch: this.requester.writes.epoch,
      last: undefined,
      callers: 0,
    };
    const onResponse = (response: ResponseInfo) => {
      begun.last = response;
    };
    const own = { ...options, signal: abort.signal, totalTimeoutMs: Infinity, onResponse };
    const result = this.requester.group(own, run, true).finally(() => {
      if (this.#readings.get(key) === begun) this.#readings.delete(key);
    });
    result.catch(() => {});
    const reading = Object.assign(begun, { result });
    this.#readings.set(key, reading);
    return reading;
  }
}
