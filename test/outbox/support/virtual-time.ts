import { onTestFinished, vi } from "vitest";

const { setImmediate } = globalThis;

/** Replaces the clocks and timers of a test. */
export function useVirtualTime(): void {
  vi.useFakeTimers({ now: new Date("2026-03-01T08:07:06.005Z") });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** Lets everything happen that needs no timer. */
async function settlePromises(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** The result of a promise, in virtual time: whenever nothing else happens, time goes on to the next timer. */
export async function inVirtualTime<T>(promise: Promise<T>, limitMs = 24 * 3_600_000): Promise<T> {
  const state: { result?: { value: T } | { error: unknown } } = {};
  promise.then(
    (value) => (state.result = { value }),
    (error: unknown) => (state.result = { error }),
  );
  const startedAt = performance.now();
  for (;;) {
    await settlePromises();
    if (state.result) break;
    if (performance.now() - startedAt > limitMs) throw new Error(`not finished after ${limitMs} ms of virtual time`);
    if (vi.getTimerCount() === 0) throw new Error("nothing is left that could happen");
    await vi.advanceTimersToNextTimerAsync();
  }
  if ("error" in state.result) throw state.result.error;
  return state.result.value;
}

/** Waits, in virtual time. */
export const wait = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));
