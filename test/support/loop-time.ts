import { afterEach, vi } from "vitest";

// The real functions, captured before a test stops the time.
const { setTimeout: startTimer } = globalThis;
const now = performance.now.bind(performance);

afterEach(() => void vi.useRealTimers());

/**
 * Stops timers and clocks until the end of the test, while sockets and promises continue. So no timer fires early on a slow
 * machine, and a call that ends has waited for no timer. `passTime` lets time pass.
 */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
}

/** Lets stopped time pass. */
export const passTime = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

/** The most time that passes in one turn, in ms. With 5 ms, sockets get at least twenty turns before a timer of 100 ms fires. */
const MAX_TURN_MS = 5;

let loopTimes = 0;

/**
 * Couples time to the turns of the event loop until the end of the test. It passes at most as fast as real time. While a busy
 * machine does not run this process, timers stand still like its sockets.
 */
export function useLoopTime(): void {
  stopTime();
  loopTimes += 1;
  const current = loopTimes;
  let last = now();
  const turn = () => {
    if (current !== loopTimes || !vi.isFakeTimers()) return;
    const elapsedMs = Math.min(MAX_TURN_MS, Math.floor(now() - last));
    last = now();
    vi.advanceTimersByTime(elapsedMs);
    startTimer(turn, 1);
  };
  turn();
}

/** Returns how many turns of the event loop, of at least 1 ms each, a call takes. A busy machine does not increase the number. */
export async function turnsOf(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await promise.catch(() => {});
  clearInterval(timer);
  return turns;
}
