import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import { parseServiceDate } from "../../schemas/date.js";

/** `Date` headers and records may come from machines with different clocks, so smaller differences prove nothing. */
const CLOCK_TOLERANCE_MS = 1_000;
/** The dates of records may be this far behind the `Date` header, if nothing else is known. */
const RECORD_LAG_MS = 60_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** All offsets of time zones are multiples of this. */
const QUARTER_HOUR_MS = 900_000;
const DAY_MS = 86_400_000;

/**
 * Whether a record was written before or after a request was sent, based on the service's datetimes.
 * - `before`: certainly before.
 * - `unclear`: its date is not precise enough.
 * - `near`: its date is up to a minute earlier, which proves nothing: the dates of records may be behind.
 * - `after`: its date is later.
 */
export type TimeOrder = "before" | "unclear" | "near" | "after";

/**
 * The time at which a request was sent, by the clock of the service. The `Date` headers of later responses show how far that
 * clock is ahead of the local clock; if the two can be equal, they are treated as equal.
 */
export class SendingTime {
  readonly #sentAt: number;
  readonly #isInFuture: boolean;
  /** How far the service's clock was ahead when the request was sent; `null` if that was not known. */
  readonly #recordedAheadMs: number | null | undefined;
  /** Bounds of how far the service's clock is ahead of the local clock, in ms. */
  #minAheadMs = Infinity;
  #maxAheadMs = Infinity;
  /** How far the dates of records may be behind the `Date` header. */
  #lagMs = RECORD_LAG_MS;

  constructor({ sentAt, clockAheadMs }: { sentAt: number; clockAheadMs?: number | null | undefined }) {
    this.#sentAt = sentAt;
    this.#isInFuture = sentAt > Date.now();
    this.#recordedAheadMs = clockAheadMs;
    if (typeof clockAheadMs !== "number") return;
    this.#minAheadMs = clockAheadMs;
    this.#maxAheadMs = clockAheadMs + SECOND_MS;
  }

  /** Whether the time is known by the service's clock. A time in the future means that the local clock was set back. */
  get isKnown(): boolean {
    // For a recorded time, only the offset that was known at sending is used: the local clock may have been set since.
    if (this.#recordedAheadMs !== undefined) return this.#recordedAheadMs !== null;
    return this.#minAheadMs !== Infinity && !this.#isInFuture;
  }

  /** Adds an `onResponse` that reads the service's clock from the `Date` header of each response. */
  observeClock(options: RequestOptions): RequestOptions {
    const onResponse = (response: ResponseInfo) => {
      this.#narrowClockBounds(response);
      return options.onResponse?.(response);
    };
    return { ...options, onResponse };
  }

  #narrowClockBounds({ headers, durationMs }: ResponseInfo): void {
    if (typeof this.#recordedAheadMs === "number") return;
    const served = Date.parse(headers.date ?? "");
    if (Number.isNaN(served)) return;
    const now = Date.now();
    this.#minAheadMs = Math.min(this.#minAheadMs, served - now);
    // The header is in whole seconds, and may have been written as early as the start of the call.
    this.#maxAheadMs = Math.min(this.#maxAheadMs, served + SECOND_MS - (now - durationMs));
  }

  /** Whether a datetime of the service is before or after the request was sent. */
  compare(datetime: string): TimeOrder {
    const from = timeOf(datetime);
    if (from === undefined) return "unclear";
    const least = this.#minAheadMs === Infinity ? 0 : this.#minAheadMs;
    const likely = least > 0 ? least : Math.min(this.#maxAheadMs, 0);
    const earliest = this.#sentAt + Math.min(least, likely - CLOCK_TOLERANCE_MS) - this.#lagMs;
    if (from + precisionMs(datetime, from) <= earliest) return "before";
    // A time in whole seconds may have been truncated: the exact time is up to a second later.
    const cutOffMs = isInSeconds(datetime, from) ? SECOND_MS - 1 : 0;
    if (from + cutOffMs >= this.#sentAt + likely) return "after";
    return from + cutOffMs >= earliest ? "near" : "unclear";
  }

  /** Whether a record was certainly written before. */
  isBefore(datetime: string): boolean {
    return this.isKnown && this.compare(datetime) === "before";
  }

  /** A record has this date, though it cannot have been written before a time by the service's clock, in ms. */
  observeLag(writtenAfter: number, datetime: string): void {
    const from = timeOf(datetime);
    if (from === undefined) return;
    this.#lagMs = Math.max(this.#lagMs, RECORD_LAG_MS + writtenAfter - from - precisionMs(datetime, from));
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
 * The precision of a datetime, in ms: the exact time may be that much later. `T05:00:00Z` may stand for a day in another time
 * zone, `T05:01:00Z` for a whole minute.
 */
function precisionMs(datetime: string, time: number): number {
  const hasFraction = /\.\d/.test(datetime);
  if (isDay(datetime) || (time % QUARTER_HOUR_MS === 0 && !hasFraction)) return DAY_MS;
  if (time % MINUTE_MS === 0 && !hasFraction) return MINUTE_MS;
  return time % SECOND_MS === 0 ? SECOND_MS : 1;
}
