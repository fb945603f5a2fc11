import { now } from "../time/timer.js";
import { effortOf, forecastMs } from "./forecast.js";
import type { PageSession, PagingSettings } from "./page.js";

type Settings = Pick<PagingSettings<unknown>, "concurrency" | "readAhead" | "gapless">;

/** When an iteration will be over, by how long its requests take, how long its consumer holds a page, and the limiter. */
export interface Eta {
  /** The consumer gets a page. */
  given(): void;
  /** The consumer asks for the next page. */
  asked(): void;
  /** How long it takes to read so many records more, in ms; null when that cannot be told. */
  ms(records: number, pageSize: number): number | null;
}

export function createEta(pace: PageSession<unknown>["pace"], { concurrency, readAhead, gapless }: Settings): Eta {
  /** When the consumer got the page that it holds. */
  let givenAt: number | undefined;
  let heldMs = 0;
  let pagesHeld = 0;
  return {
    given() {
      givenAt = now();
    },
    asked() {
      if (givenAt === undefined) return;
      heldMs += now() - givenAt;
      pagesHeld += 1;
      givenAt = undefined;
    },
    ms(records, pageSize) {
      if (records === 0) return 0;
      const { latencyMs, ...allowance } = pace();
      const fetchMs = latencyMs / concurrency;
      const holdMs = heldMs / Math.max(1, pagesHeld);
      // Pages that are read ahead come while the consumer is at work.
      const paceMs = readAhead > 0 || concurrency > 1 ? Math.max(fetchMs, holdMs) : fetchMs + holdMs;
      const eta = forecastMs(effortOf(records, { pageSize, gapless }).requests, paceMs, allowance);
      return Number.isFinite(eta) ? eta : null;
    },
  };
}
