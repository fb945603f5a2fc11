import { monotonicNowMs } from "../../shared/time/clock.js";
import type { ResponseInfo } from "./request-options.js";

/** The `Date` header of a response, in ms since the epoch; `undefined` if it has none. */
export function dateHeaderMs({ date = "" }: Readonly<Record<string, string>>): number | undefined {
  const time = Date.parse(date);
  return Number.isNaN(time) ? undefined : time;
}

/** How far the service's clock is ahead of this machine's clock by the `Date` header of a response that has just arrived, in ms. */
export function aheadMsOf(headers: Readonly<Record<string, string>>): number | undefined {
  const served = dateHeaderMs(headers);
  return served === undefined ? undefined : served - Date.now();
}

/** The service's time when a call began, or an earlier time: the `Date` header was set before the response ended. */
export function serviceTimeBefore({
  headers,
  durationMs,
}: Pick<ResponseInfo, "headers" | "durationMs">): number | undefined {
  const served = dateHeaderMs(headers);
  return served === undefined ? undefined : Math.floor(served - durationMs);
}

/** The clock of the service, as the `Date` header of the last response shows it. */
export class ServiceClock {
  /** Whether the client has received a response. */
  hasResponded = false;
  #served: number | undefined;
  #at = 0;

  observe(headers: Readonly<Record<string, string>>): void {
    this.hasResponded = true;
    const served = dateHeaderMs(headers);
    if (served === undefined && headers.date === undefined) return;
    this.#served = served;
    this.#at = monotonicNowMs();
  }

  /** How far the service's clock is ahead of this machine's clock, at least, in ms; `undefined` if unknown. */
  get aheadMs(): number | undefined {
    if (this.#served === undefined) return undefined;
    // The time since then is measured by the monotonic clock: the local clock may have been set meanwhile.
    return Math.floor(this.#served + (monotonicNowMs() - this.#at) - Date.now());
  }
}
