import type { RequestOptions, ResponseInfo } from "../core/request-options.js";
import { parseServiceDate } from "../schemas/date.js";

/** The clock of `Date` headers and that of records may belong to different machines, so smaller differences prove nothing. */
const CLOCK_DOUBT_MS = 1_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** All offsets of time zones are multiples of this. */
const QUARTER_HOUR_MS = 900_000;
const DAY_MS = 86_400_000;

/** Whether something happened after a request was sent, by what the service says of its time. */
export type Order = "before" | "after" | "unclear";

/**
 * The moment at which a request was sent, on the clock of the service. The `Date` headers of later responses tell how far
 * that clock is ahead of ours; if they agree as far as can be seen, the clocks count as equal.
 */
export class SendingTime {
  readonly #sentAt: number;
  readonly #isInFuture: boolean;
  /** Bounds of how far the service's clock is ahead, in ms. */
  #least = Infinity;
  #most = Infinity;

  constructor(sentAt: number) {
    this.#sentAt = sentAt;
    this.#isInFuture = sentAt > Date.now();
  }

  /** Whether the sending has a known place on the service's clock. A time still to come shows that our own clock was set back. */
  get isKnown(): boolean {
    return this.#least !== Infinity && !this.#isInFuture;
  }

  /** Options for calls whose responses tell the clock of the service. */
  watching(options: RequestOptions): RequestOptions {
    const onResponse = (response: ResponseInfo) => {
      this.#learnClock(response);
      return options.onResponse?.(response);
    };
    return { ...options, onResponse };
  }

  #learnClock({ headers, durationMs }: ResponseInfo): void {
    const served = Date.parse(headers.date ?? "");
    if (Number.isNaN(served)) return;
    const now = Date.now();
    this.#least = Math.min(this.#least, served - now);
    // The header counts in whole seconds, and may have been written as early as the call began.
    this.#most = Math.min(this.#most, served + SECOND_MS - (now - durationMs));
  }

  /** How a datetime of the service lies to the sending. */
  compare(datetime: string): Order {
    const from = timeOf(datetime);
    if (from === undefined) return "unclear";
    const least = this.#least === Infinity ? 0 : this.#least;
    const likely = least > 0 ? least : Math.min(this.#most, 0);
    const earliest = Math.min(least, likely - CLOCK_DOUBT_MS);
    if (from + coarsestMs(datetime, from) <= this.#sentAt + earliest) return "before";
    // A time in whole seconds was cut off, so it lies up to a second later than it says.
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
 * How much later than it says a datetime may lie, at worst. `T05:00:00Z` may stand for a day in a time zone, `T05:01:00Z`
 * for a minute.
 */
function coarsestMs(datetime: string, time: number): number {
  const hasFraction = /\.\d/.test(datetime);
  if (isDay(datetime) || (time % QUARTER_HOUR_MS === 0 && !hasFraction)) return DAY_MS;
  if (time % MINUTE_MS === 0 && !hasFraction) return MINUTE_MS;
  return time % SECOND_MS === 0 ? SECOND_MS : 1;
}
