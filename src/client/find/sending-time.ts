import { serviceTimeMs } from "../../service/date.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import { dateHeaderMs } from "../send/service-clock.js";

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

/** Bounds of how far the service's clock is ahead of the local clock, in ms. */
interface ClockBounds {
  minMs: number;
  maxMs: number;
}

/**
 * The time at which a request was sent, by the clock of the service. The `Date` headers of responses show how far that clock
 * is ahead of the local clock: those before the request, if that was recorded, and those of the search. Both count, since
 * either clock may have been set in between. If local clock and service clock can be equal, they are treated as equal.
 */
export class SendingTime {
  readonly #sentAt: number;
  readonly #isInFuture: boolean;
  /** When the request was sent; `null` if that was not known then. */
  readonly #recorded: ClockBounds | null | undefined;
  /** During the search. */
  #observed: ClockBounds | undefined;
  /** How far the dates of records may be behind the `Date` header. */
  #lagMs = RECORD_LAG_MS;

  constructor({ sentAt, clockAheadMs }: { sentAt: number; clockAheadMs?: number | null | undefined }) {
    this.#sentAt = sentAt;
    this.#isInFuture = sentAt > Date.now();
    this.#recorded =
      typeof clockAheadMs === "number" ? { minMs: clockAheadMs, maxMs: clockAheadMs + SECOND_MS } : clockAheadMs;
  }

  /** Whether the time is known by the service's clock. A time in the future means that the local clock was set back. */
  get isKnown(): boolean {
    if (this.#recorded !== undefined) return this.#recorded !== null;
    return this.#observed !== undefined && !this.#isInFuture;
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
    const served = dateHeaderMs(headers);
    if (served === undefined) return;
    const now = Date.now();
    const { minMs, maxMs } = this.#observed ?? { minMs: Infinity, maxMs: Infinity };
    this.#observed = {
      minMs: Math.min(minMs, served - now),
      // The header is in whole seconds, and may have been written as early as the start of the call.
      maxMs: Math.min(maxMs, served + SECOND_MS - (now - durationMs)),
    };
  }

  /** Whether a datetime of the service is before or after the request was sent. */
  compare(datetime: string): TimeOrder {
    const from = serviceTimeMs(datetime);
    if (from === undefined) return "unclear";
    const known = [this.#recorded, this.#observed].filter((bounds) => bounds != null);
    const orders = new Set(
      (known.length > 0 ? known : [UNKNOWN_BOUNDS]).map((bounds) => this.#order(datetime, from, bounds)),
    );
    const [order = "unclear"] = orders;
    if (orders.size === 1) return order;
    return orders.has("near") && orders.has("after") ? "near" : "unclear";
  }

  #order(datetime: string, from: number, { minMs, maxMs }: ClockBounds): TimeOrder {
    const likelyMs = minMs > 0 ? minMs : Math.min(maxMs, 0);
    const earliest = this.#sentAt + Math.min(minMs, likelyMs - CLOCK_TOLERANCE_MS) - this.#lagMs;
    if (from + precisionMs(datetime, from) <= earliest) return "before";
    // A time in whole seconds may have been truncated: the exact time is up to a second later.
    const cutOffMs = isInSeconds(datetime, from) ? SECOND_MS - 1 : 0;
    if (from + cutOffMs >= this.#sentAt + likelyMs) return "after";
    return from + cutOffMs >= earliest ? "near" : "unclear";
  }

  /** Whether a record was certainly written before. */
  isBefore(datetime: string): boolean {
    return this.isKnown && this.compare(datetime) === "before";
  }

  /** A record has this date, though it cannot have been written before a time by the service's clock, in ms. */
  observeLag(writtenAfter: number, datetime: string): void {
    const from = serviceTimeMs(datetime);
    if (from === undefined) return;
    this.#lagMs = Math.max(this.#lagMs, RECORD_LAG_MS + writtenAfter - from - precisionMs(datetime, from));
  }
}

const UNKNOWN_BOUNDS: ClockBounds = { minMs: 0, maxMs: Infinity };

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
