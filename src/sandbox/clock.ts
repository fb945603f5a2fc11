/** The sandbox's time: what the caller's `now` says, plus whatever {@link SandboxClock.advance} added. */
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

/** Waits, in a way that ends at once when the signal fires; resolves then as well. No timer for zero. */
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
