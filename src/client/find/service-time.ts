import { serviceTimeMs } from "../../service/date.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import { dateHeaderMs } from "../send/service-clock.js";

/**
 * A record that was written this long before a request was sent is not that request's. Dates of records may be days without a
 * time, in any time zone, and behind the `Date` header.
 */
const CERTAINLY_BEFORE_MS = 48 * 3_600_000;
/** `Date` headers are in whole seconds, and dates of records may be, too. */
const TOLERANCE_MS = 2_000;

/** Whether a record was written before a request was sent, by the service's clock (in ms since the epoch, if it is known). */
export function compareWithSending(datetime: unknown, sentAt: number | undefined): "before" | "unclear" | "after" {
  const time = serviceTimeMs(datetime);
  if (time === undefined || sentAt === undefined) return "unclear";
  if (time < sentAt - CERTAINLY_BEFORE_MS) return "before";
  return time >= sentAt - TOLERANCE_MS ? "after" : "unclear";
}

/** When a write was sent, by the service's clock: as recorded, else as the `Date` headers of the search show it. */
export class SendingTime {
  readonly #sentAt: number;
  /** How far the service's clock was ahead of the one that `sentAt` is from, if that was recorded. */
  readonly #recordedAheadMs: number | undefined;
  readonly #isSentHere: boolean;
  #aheadMs: number | undefined;
  #sentLaterMs = 0;
  /** The local clock was set back since, so how far it is ahead now says nothing. */
  readonly #isUnknown: boolean;

  constructor({
    sentAt,
    clockAheadMs,
    isSentHere,
  }: {
    sentAt: number;
    clockAheadMs?: number | undefined;
    isSentHere: boolean;
  }) {
    this.#sentAt = sentAt;
    this.#recordedAheadMs = clockAheadMs;
    this.#isSentHere = isSentHere;
    this.#aheadMs = clockAheadMs;
    this.#isUnknown = clockAheadMs === undefined && sentAt > Date.now();
  }

  /** In ms since the epoch, if it is known. */
  get ms(): number | undefined {
    return this.#isUnknown || this.#aheadMs === undefined ? undefined : this.#sentAt + this.#aheadMs;
  }

  /**
   * How much later than `sentAt` by this machine's clock it was sent, in ms: the clock of the process that sent it may have been
   * behind. 0 if that is not known.
   */
  get sentLaterMs(): number {
    return this.#sentLaterMs > TOLERANCE_MS ? this.#sentLaterMs : 0;
  }

  observeClock(options: RequestOptions): RequestOptions {
    const onResponse = (response: ResponseInfo) => {
      const served = dateHeaderMs(response.headers);
      const aheadMs = served === undefined ? undefined : served - Date.now();
      this.#aheadMs ??= aheadMs;
      if (aheadMs !== undefined && this.#recordedAheadMs !== undefined && !this.#isSentHere)
        this.#sentLaterMs = this.#recordedAheadMs - aheadMs;
      return options.onResponse?.(response);
    };
    return { ...options, onResponse };
  }
}
