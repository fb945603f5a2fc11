import type { Clock } from "./clock.js";

/** One request that goes first after a pause. */
export interface Probe {
  /** Whether the request was sent at all; one that was not has tried nothing. */
  end(sent: boolean): void;
}

/** The pause after a 429, and the probe after it: one request goes first, the rest follow when it has ended. */
export class Pause {
  readonly #clock: Clock;
  readonly #over: () => void;
  #current: { from: number; until: number; stop: () => void } | undefined;
  #earlierMs = 0;
  #probe: Probe | "due" | undefined;

  /** `over` is called when a pause ends while it is watched. */
  constructor(clock: Clock, over: () => void) {
    this.#clock = clock;
    this.#over = over;
  }

  /** Begins a pause, unless there is one: the first 429 decides. */
  begin(delayMs: number): boolean {
    this.#settle();
    if (this.#current) return false;
    const from = this.#clock.now();
    this.#current = { from, until: from + delayMs, stop: NOTHING };
    return true;
  }

  /** The end of the pause by the limiter's clock; `undefined` when there is none. */
  get until(): number | undefined {
    this.#settle();
    return this.#current?.until;
  }

  /** How many requests may start now, as far as the pause goes. */
  get allowance(): number {
    this.#settle();
    if (this.#current) return 0;
    if (this.#probe === undefined) return Number.POSITIVE_INFINITY;
    return this.#probe === "due" ? 1 : 0;
  }

  /** A request starts; the first after a pause is the probe. */
  start(): Probe | undefined {
    if (this.#probe !== "due") return undefined;
    const probe: Probe = {
      // Where another pause has begun since, it is another probe's turn.
      end: (sent) => {
        if (this.#probe === probe) this.#probe = sent ? undefined : "due";
      },
    };
    this.#probe = probe;
    return probe;
  }

  /** All pauses up to now together, in ms. */
  get totalMs(): number {
    this.#settle();
    return this.#earlierMs + (this.#current ? this.#clock.now() - this.#current.from : 0);
  }

  /** Sees to it that the end of the pause is noticed, as long as somebody waits for it. */
  watch(wanted: boolean): void {
    const pause = this.#current;
    if (!pause) return;
    if (wanted && pause.stop === NOTHING) pause.stop = this.#clock.at(pause.until, this.#over);
    if (wanted) return;
    pause.stop();
    pause.stop = NOTHING;
  }

  #settle(): void {
    const pause = this.#current;
    if (!pause || pause.until > this.#clock.now()) return;
    // Its timer, if there is one, goes on: whoever looked is not the one who waits.
    this.#earlierMs += pause.until - pause.from;
    this.#current = undefined;
    this.#probe = "due";
  }
}

const NOTHING = () => {};
