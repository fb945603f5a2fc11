import type { RequestOptions, ResponseInfo } from "../core/request-options.js";
import { parseServiceDate } from "../schemas/date.js";

/** Two clocks that differ by less than this cannot be told apart by `Date` headers, which count in seconds. */
const CLOCK_DOUBT_MS = 1_000;
const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** Whether something happened after a request was sent, by what the service says of its time. */
export type Order = "before" | "after" | "unclear";

/**
 * The moment at which a request was sent, on the clock of the service. It is told by the `Date` header of a later answer;
 * without one, or where the clocks agree as far as can be seen, they count as equal.
 */
export class SendingTime {
  #atService: number;
  readonly #sentAt: number;

  constructor(sentAt: number) {
    this.#sentAt = sentAt;
    this.#atService = sentAt;
  }

  /** Options for calls whose answers tell the clock of the service. */
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
    const slow = served + SECOND_MS - (now - durationMs);
    const fast = served - now;
    this.#atService = this.#sentAt + (fast > 0 ? fast : Math.min(slow, 0));
  }

  /** How a datetime of the service lies to the sending. One without a time of day, or at midnight, tells only its day. */
  compare(datetime: string): Order {
    const from = timeOf(datetime);
    if (from === undefined) return "unclear";
    const resolution = resolutionMs(datetime, from);
    if (from >= this.#atService) return "after";
    if (from + resolution <= this.#atService - CLOCK_DOUBT_MS) return "before";
    // A time in whole seconds was cut off, so it lies up to a second later than it says.
    return resolution === SECOND_MS && from + resolution > this.#atService ? "after" : "unclear";
  }
}

function timeOf(datetime: string): number | undefined {
  try {
    return parseServiceDate(datetime).getTime();
  } catch {
    return undefined;
  }
}

function resolutionMs(datetime: string, time: number): number {
  if (!/T/i.test(datetime) || /T00:00(:00(\.0+)?)?(Z|[+-]|$)/i.test(datetime)) return DAY_MS;
  return time % SECOND_MS === 0 ? SECOND_MS : 1;
}
