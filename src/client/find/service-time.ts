import { serviceTimeMs } from "../../service/date.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import { aheadMsOf } from "../send/service-clock.js";
import type { SentReceipt } from "./sent-write.js";

/** Dates before this date are placeholders. */
const FIRST_DATE_MS = Date.UTC(2000, 0, 1);
/**
 * A record that was written this long before a request was sent does not come from that request. The tolerance is large
 * for three reasons: a date may lack the time of day, may be in any time zone, and may be behind the `Date` header.
 */
const CERTAINLY_BEFORE_MS = 48 * 3_600_000;
/** `Date` headers have whole seconds, and dates of records may have, too. */
const TOLERANCE_MS = 2_000;

/** Compares the date of a record with the time at which a request was sent, in ms since the epoch by the service's clock. */
export function compareWithSending(datetime: unknown, sentAt: number | undefined): "before" | "unclear" | "after" {
  const time = serviceTimeMs(datetime);
  if (time === undefined || time < FIRST_DATE_MS || sentAt === undefined) return "unclear";
  if (time < sentAt - CERTAINLY_BEFORE_MS) return "before";
  return time >= sentAt - TOLERANCE_MS ? "after" : "unclear";
}

/** Whether a record was certainly written after a request was sent. */
export const wasWrittenAfter = (datetime: unknown, sentAt: number | undefined): boolean =>
  compareWithSending(datetime, sentAt) === "after";

/**
 * The time at which a write was sent, by the service's clock: as it was recorded with the write, or else as the `Date` headers of
 * the search show it.
 */
export class SendingTime {
  #aheadMs: number | undefined;
  /** How far the clock of the sending process was behind this machine's clock, in ms. Add it to `sentAt`. */
  #laterMs = 0;
  /** Whether the local clock was set back since the write was sent. Then its present difference from the service says nothing. */
  readonly #isUnknown: boolean;

  constructor(private readonly sent: Pick<SentReceipt, "sentAt" | "clockAheadMs" | "ageMs" | "isSentHere">) {
    const { sentAt, clockAheadMs } = sent;
    this.#aheadMs = clockAheadMs;
    this.#isUnknown = clockAheadMs === undefined && sentAt > Date.now();
  }

  /** The time by the service's clock, in ms since the epoch; `undefined` if it is not known. */
  get ms(): number | undefined {
    return this.#isUnknown || this.#aheadMs === undefined ? undefined : this.sent.sentAt + this.#aheadMs;
  }

  /** How long before the search the write was sent, in ms. */
  get ageMs(): number {
    const { ageMs, isSentHere } = this.sent;
    return isSentHere || this.#laterMs <= TOLERANCE_MS ? ageMs : Math.max(0, ageMs - this.#laterMs);
  }

  observeClock(options: RequestOptions): RequestOptions {
    const onResponse = (response: ResponseInfo) => {
      const aheadMs = aheadMsOf(response.headers);
      this.#aheadMs ??= aheadMs;
      const before = this.sent.clockAheadMs;
      if (aheadMs !== undefined && before !== undefined) this.#laterMs = before - aheadMs;
      return options.onResponse?.(response);
    };
    return { ...options, onResponse };
  }
}
