import type { MonotonicClock } from "./monotonic-clock.js";

/** Ends the one request that goes first after a pause. One that was not sent at all has tried nothing. */
export type EndProbe = (sent: boolean) => void;

/** The pause after a 429, and the probe after it: one request goes first, the rest follow when it has ended. */
export interface Pause {
  /** The end of the pause by the limiter's clock; `undefined` when there is none. */
  readonly until: number | undefined;
  /** Creates the error of the 429 that began the pause, if it is known here. */
  readonly error: (() => unknown) | undefined;
  /** How many requests may start now, as far as the pause goes. */
  readonly allowance: number;
  /** All pauses up to now together, in ms. */
  readonly totalMs: number;
  /** Begins a pause, unless there is one: the first 429 decides. */
  begin(delayMs: number, error?: () => unknown): boolean;
  /** A request starts; the first after a pause is the probe. */
  start(): EndProbe | undefined;
  /** Sees to it that the end of the pause is noticed, as long as somebody waits for it. */
  setWatched(wanted: boolean): void;
}

/** `over` is called when a pause ends while it is watched. */
export function createPause(clock: MonotonicClock, over: () => void): Pause {
  let current:
    | { from: number; until: number; error: (() => unknown) | undefined; stop?: (() => void) | undefined }
    | undefined;
  let earlierMs = 0;
  let probe: EndProbe | "due" | undefined;

  /** The pause, if it is not over by now. */
  const activePause = () => {
    if (current && current.until <= clock.now()) {
      // Its timer, if there is one, goes on: whoever looked is not the one who waits.
      earlierMs += current.until - current.from;
      current = undefined;
      probe = "due";
    }
    return current;
  };

  return {
    get until() {
      return activePause()?.until;
    },
    get error() {
      return activePause()?.error;
    },
    get allowance() {
      return activePause() ? 0 : probe === "due" ? 1 : probe ? 0 : Infinity;
    },
    get totalMs() {
      const pause = activePause();
      return earlierMs + (pause ? clock.now() - pause.from : 0);
    },
    begin(delayMs, error) {
      if (activePause()) return false;
      const from = clock.now();
      current = { from, until: from + delayMs, error };
      return true;
    },
    start() {
      if (probe !== "due") return undefined;
      // Where another pause has begun since, it is another probe's turn.
      const end = (sent: boolean) => {
        if (probe === end) probe = sent ? undefined : "due";
      };
      probe = end;
      return end;
    },
    setWatched(wanted) {
      if (!current) return;
      if (wanted) current.stop ??= clock.at(current.until, over);
      else {
        current.stop?.();
        current.stop = undefined;
      }
    },
  };
}
