import { serviceTimeMs } from "../../service/date.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import { dateHeaderMs } from "../send/service-clock.js";
import type { SentReceipt } from "./sent-write.js";

/** Earlier dates of records are placeholders. */
const FIRST_DATE_MS = Date.UTC(2000, 0, 1);
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
  if (time === undefined || time < FIRST_DATE_MS || sentAt === undefined) return "unclear";
  if (time < sentAt - CERTAINLY_BEFORE_MS) return "before";
  return time >= sentAt - TOLERANCE_MS ? "after" : "unclear";
}

/** Whether a record was certainly written after a request was sent. */
export const wasWrittenAfter = (datetime: unknown, sentAt: number | undefined): boolean =>
  compareWithSending(datetime, sentAt) === "after";

/** When a write was sent, as far as clocks are concerned. */
type SentTime = Pick<SentReceipt, "sentAt" | "clockAheadMs" | "ageMs" | "isSentHere">;

/** When a write was sent, by the service's clock: as recorded, else as the `Date` headers of the search show it. */
export class SendingTime {
  readonly #sent: SentTime;
  #aheadMs: number | undefined;
  /** How much later than `sentAt` by this machine's clock it was sent: the clock of the process that sent it was behind. */
  #laterMs = 0;
  /** The local clock was set back since, so how far it is ahead now says nothing. */
  readonly #isUnknown: boolean;

  constructor(sent: SentTime) {
    const { sentAt, clockAheadMs } = sent;
    this.#sent = sent;
    this.#aheadMs = clockAheadMs;
    this.#isUnknown = clockAheadMs === undefined && sentAt > Date.now();
  }

  /** In ms since the epoch, if it is known. */
  get ms(): number | undefined {
    return this.#isUnknown || this.#aheadMs === undefined ? undefined : this.#sent.sentAt + this.#aheadMs;
  }

  /** How long ago it was sent when the search began, in ms. */
  get ageMs(): number {
    const { ageMs, isSentHere } = this.#sent;
    return isSentHere || this.#laterMs <= TOLERANCE_MS ? ageMs : Math.max(0, ageMs - this.#laterMs);
  }

  observeClock(options: RequestOptions): RequestOptions {
    const { clockAheadMs } = this.#sent;
    const onResponse = (response: ResponseInfo) => {
      const served = dateHeaderMs(response.headers);
      if (served !== undefined) {
        const aheadMs = served - Date.now();
        this.#aheadMs ??= aheadMs;
        if (clockAheadMs !== undefined) this.#laterMs = clockAheadMs - aheadMs;
      }
      return options.onResponse?.(response);
    };
    return { ...options, onResponse };
  }
}
