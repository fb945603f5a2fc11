import type { MonotonicClock } from "../../shared/time/clock.js";

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
  begin(pauseMs: number, error?: () => unknown): boolean;
  /** A request starts; the first after a pause is the probe. */
  requestStarts(): EndProbe | undefined;
  /** Sets whether calls wait for the end of the pause. Without them there is no timer: it would keep the process alive. */
  setAwaited(isAwaited: boolean): void;
}

type Phase =
  /** No pause, and the probe after the last one has ended without a 429. */
  | { readonly name: "open" }
  | {
      readonly name: "paused";
      readonly from: number;
      readonly until: number;
      readonly error: (() => unknown) | undefined;
    }
  /** The pause has ended: one request may start, as the probe. */
  | { readonly name: "probeDue" }
  /** The probe is in progress: no other request may start. */
  | { readonly name: "probing" };

/** How many requests may start in each phase. */
const ALLOWANCE: Record<Phase["name"], number> = { open: Infinity, paused: 0, probeDue: 1, probing: 0 };

/** `onEnd` is called when a pause ends for which calls wait. */
export function createPause(clock: MonotonicClock, onEnd: () => void): Pause {
  let phase: Phase = { name: "open" };
  let endedPausesMs = 0;
  const setAlarm = clock.createAlarm(onEnd);

  /** Ends the pause if its time has passed. Returns the phase that this leads to. */
  const updatePhase = (): Phase => {
    if (phase.name === "paused" && phase.until <= clock.now()) {
      // Its alarm is still set: the waiting calls need it, even if the state was read first.
      endedPausesMs += phase.until - phase.from;
      phase = { name: "probeDue" };
    }
    return phase;
  };

  return {
    get until() {
      const current = updatePhase();
      return current.name === "paused" ? current.until : undefined;
    },
    get error() {
      const current = updatePhase();
      return current.name === "paused" ? current.error : undefined;
    },
    get allowance() {
      return ALLOWANCE[updatePhase().name];
    },
    get totalMs() {
      const current = updatePhase();
      return endedPausesMs + (current.name === "paused" ? clock.now() - current.from : 0);
    },
    begin(pauseMs, error) {
      if (updatePhase().name === "paused") return false;
      const from = clock.now();
      phase = { name: "paused", from, until: from + pauseMs, error };
      return true;
    },
    requestStarts() {
      if (updatePhase().name !== "probeDue") return undefined;
      const probing: Phase = { name: "probing" };
      phase = probing;
      return (sent) => {
        // If another pause has begun since, there is another probe.
        if (phase === probing) phase = { name: sent ? "open" : "probeDue" };
      };
    },
    setAwaited(isAwaited) {
      const current = updatePhase();
      if (current.name === "paused") setAlarm(isAwaited ? current.until : undefined);
    },
  };
}
