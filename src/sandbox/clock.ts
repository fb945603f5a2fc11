/** The sandbox's time: the caller's `now` plus what {@link SandboxClock.advance} has added. */
export interface SandboxClock {
  /** Milliseconds since the epoch. */
  now(): number;
  advance(milliseconds: number): void;
  /** Undoes every `advance`. */
  reset(): void;
}

export function createSandboxClock(source: () => number): SandboxClock {
  let offset = 0;
  return {
    now: () => source() + offset,
    advance: (milliseconds) => {
      offset += milliseconds;
    },
    reset: () => {
      offset = 0;
    },
  };
}

/** Resolves after this time, or at once when the signal is aborted. Sets no timer for zero. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
