import type { MonotonicClock } from "./monotonic-clock.js";

/** Ends the probe. If it was not sent, the next request is the probe. */
export type EndProbe = (sent: boolean) => void;

/** The pause after a 429, and the probe after it: one request is sent first, the others after it has ended. */
export interface Pause {
  /** The end of the pause by the limiter's clock; `undefined` if there is none. */
  readonly until: number | undefined;
  /** Creates the error of the 429 that began the pause, if it is known here. */
  readonly error: (() => unknown) | undefined;
  /** How many requests may start now, as far as the pause goes. */
  readonly allowance: number;
  /** The total time of all pauses up to now, in ms. */
  readonly totalMs: number;
  /** Begins a pause and returns true, unless there is one already: the first 429 decides. */
  begin(delayMs: number, error?: () => unknown): boolean;
  /** A request starts; the first after a pause is the probe. */
  start(): EndProbe | undefined;
  /** While calls wait, a timer reports the end of the pause. */
  setWatched(isWatched: boolean): void;
}

/** `onEnd` is called when a pause ends while it is watched. */
export function createPause(clock: MonotonicClock, onEnd: () => void): Pause {
  let current:
    | { from: number; until: number; error: (() => unknown) | undefined; stop?: (() => void) | undefined }
    | undefined;
  let earlierMs = 0;
  let probe: EndProbe | "due" | undefined;

  /** The pause, if it has not ended. */
  const activePause = () => {
    if (current && current.until <= clock.now()) {
      // Its timer still runs: the waiting calls need it, even if the state was read first.
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
      // If another pause has begun since, there is another probe.
      const end = (sent: boolean) => {
        if (probe === end) probe = sent ? undefined : "due";
      };
      probe = end;
      return end;
    },
    setWatched(isWatched) {
      if (!current) return;
      if (isWatched) current.stop ??= clock.startTimerAt(current.until, onEnd);
      else {
        current.stop?.();
        current.stop = undefined;
      }
    },
  };
}
