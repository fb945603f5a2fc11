import type { Lifetime } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { SharedWork } from "../../shared/time/shared-work.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import type { ClientRequester, RequestGroup } from "../send/requester.js";

interface WholeReading<T> {
  readonly startedAt: number;
  readonly epoch: number;
  readonly work: SharedWork<T>;
  last: ResponseInfo | undefined;
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
 * is not older than `maxAgeMs`. After a write of this client, no caller joins.
 */
export class WholeReadings<T> {
  readonly #readings = new Map<string, WholeReading<T>>();

  constructor(private readonly requester: ClientRequester) {}

  async read(key: string, caller: WholeReader, run: (group: RequestGroup) => Promise<T>): Promise<T> {
    const found = this.#readings.get(key);
    const reading = found && this.#isJoinable(found, caller) ? found : this.#begin(key, caller, run);
    try {
      return await reading.work.wait(caller.lifetime);
    } finally {
      if (reading.last && !caller.lifetime.aborted) caller.note(reading.last);
    }
  }

  #isJoinable({ work, startedAt, epoch }: WholeReading<T>, caller: WholeReader): boolean {
    if (work.isAborted || epoch !== this.requester.writes.epoch) return false;
    return startedAt >= caller.startedAt || monotonicNowMs() - startedAt <= caller.maxAgeMs;
  }

  #begin(key: string, { options }: WholeReader, run: (group: RequestGroup) => Promise<T>): WholeReading<T> {
    const { epoch } = this.requester.writes;
    const begun: Omit<WholeReading<T>, "work"> = { startedAt: monotonicNowMs(), epoch, last: undefined };
    const onResponse = (response: ResponseInfo) => {
      begun.last = response;
    };
    const work = new SharedWork(({ signal }) =>
      this.requester.group({ ...options, signal, totalTimeoutMs: Infinity, onResponse }, run, true).finally(() => {
        if (this.#readings.get(key) === begun) this.#readings.delete(key);
      }),
    );
    const reading = Object.assign(begun, { work });
    this.#readings.set(key, reading);
    return reading;
  }
}
