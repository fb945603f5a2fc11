import { effortOf, forecastMs } from "./forecast.js";
import type { PageSource, PagingSettings } from "./page.js";

type Settings = Pick<PagingSettings<unknown>, "concurrency" | "readAhead" | "gapless">;

/** When an iteration will be over, by how long its requests take, how long its consumer holds a page, and the limiter. */
export class Eta {
  readonly #pace: PageSource<unknown>["pace"];
  readonly #settings: Settings;
  /** When the consumer got the page that it holds. */
  #givenAt: number | undefined;
  #heldMs = 0;
  #pagesHeld = 0;

  constructor(pace: PageSource<unknown>["pace"], settings: Settings) {
    this.#pace = pace;
    this.#settings = settings;
  }

  /** The consumer gets a page. */
  given(): void {
    this.#givenAt = performance.now();
  }

  /** The consumer asks for the next page. */
  asked(): void {
    if (this.#givenAt === undefined) return;
    this.#heldMs += performance.now() - this.#givenAt;
    this.#pagesHeld += 1;
    this.#givenAt = undefined;
  }

  /** How long it takes to read so many records more, in ms; null when that cannot be told. */
  ms(records: number, pageSize: number): number | null {
    if (records === 0) return 0;
    const { concurrency, readAhead, gapless } = this.#settings;
    const { latencyMs, ...allowance } = this.#pace();
    const fetchMs = latencyMs / concurrency;
    const holdMs = this.#pagesHeld === 0 ? 0 : this.#heldMs / this.#pagesHeld;
    // Pages that are read ahead come while the consumer is at work.
    const paceMs = readAhead > 0 || concurrency > 1 ? Math.max(fetchMs, holdMs) : fetchMs + holdMs;
    const eta = forecastMs(effortOf(records, { pageSize, gapless }).requests, paceMs, allowance);
    return Number.isFinite(eta) ? eta : null;
  }
}
