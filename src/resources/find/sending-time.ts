import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import { parseServiceDate } from "../../schemas/date.js";

/** The clock of `Date` headers and that of records may belong to different machines, so smaller differences prove nothing. */
const CLOCK_TOLERANCE_MS = 1_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** All offsets of time zones are multiples of this. */
const QUARTER_HOUR_MS = 900_000;
const DAY_MS = 86_400_000;

/** Whether something happened before or after a request was sent, based on the service's datetimes. */
export type TimeOrder = "before" | "after" | "unclear";

/**
 * The moment at which a request was sent, on the clock of the service. The `Date` headers of later responses show how far
 * that clock is ahead of ours; if both can be equal, they count as equal.
 */
export class SendingTime {
  readonly #sentAt: number;
  readonly #isInFuture: boolean;
  /** Bounds of how far the service's clock is ahead, in ms. */
  #minAheadMs = Infinity;
  #maxAheadMs = Infinity;

  constructor(sentAt: number) {
    this.#sentAt = sentAt;
    this.#isInFuture = sentAt > Date.now();
  }

  /** Whether the moment is known on the service's clock. A time in the future means that our own clock was set back. */
  get isKnown(): boolean {
    return this.#minAheadMs !== Infinity && !this.#isInFuture;
  }

  /** Options for calls whose responses show the clock of the service. */
  observeClock(options: RequestOptions): RequestOptions {
    const onResponse = (response: ResponseInfo) => {
      this.#narrowClockBounds(response);
      return options.onResponse?.(response);
    };
    return { ...options, onResponse };
  }

  #narrowClockBounds({ headers, durationMs }: ResponseInfo): void {
    const served = Date.parse(headers.date ?? "");
    if (Number.isNaN(served)) return;
    const now = Date.now();
    this.#minAheadMs = Math.min(this.#minAheadMs, served - now);
    // The header counts in whole seconds, and may have been written as early as the call began.
    this.#maxAheadMs = Math.min(this.#maxAheadMs, served + SECOND_MS - (now - durationMs));
  }

  /** Whether a datetime of the service is before or after the moment. */
  compare(datetime: string): TimeOrder {
    const from = timeOf(datetime);
    if (from === undefined) return "unclear";
    const least = this.#minAheadMs === Infinity ? 0 : this.#minAheadMs;
    const likely = least > 0 ? least : Math.min(this.#maxAheadMs, 0);
    const earliest = Math.min(least, likely - CLOCK_TOLERANCE_MS);
    if (from + precisionMs(datetime, from) <= this.#sentAt + earliest) return "before";
    // A time in whole seconds was cut off: it may be up to a second later.
    const cutOffMs = isInSeconds(datetime, from) ? SECOND_MS - 1 : 0;
    return from + cutOffMs >= this.#sentAt + likely ? "after" : "unclear";
  }
}

function timeOf(datetime: string): number | undefined {
  try {
    return parseServiceDate(datetime).getTime();
  } catch {
    return undefined;
  }
}

const isDay = (datetime: string) => !/T/i.test(datetime) || /T00:00(:00(\.0+)?)?(Z|[+-]|$)/i.test(datetime);

const isInSeconds = (datetime: string, time: number) => time % SECOND_MS === 0 && !isDay(datetime);

/**
 * How coarse a datetime may be, in ms: it may mean a time that much later. `T05:00:00Z` may be a day in another time zone,
 * `T05:01:00Z` a whole minute.
 */
function precisionMs(datetime: string, time: number): number {
  const hasFraction = /\.\d/.test(datetime);
  if (isDay(datetime) || (time % QUARTER_HOUR_MS === 0 && !hasFraction)) return DAY_MS;
  if (time % MINUTE_MS === 0 && !hasFraction) return MINUTE_MS;
  return time % SECOND_MS === 0 ? SECOND_MS : 1;
}
