import { afterEach, vi } from "vitest";

// The real ones.
const { setTimeout: startTimer } = globalThis;
const now = performance.now.bind(performance);

afterEach(() => void vi.useRealTimers());

/**
 * Stops timers and clocks until the end of the test, while sockets and promises go on. No time is up before the test has
 * reached what it means, however slow the machine is, and what ends has waited for no time. `passTime` lets it pass.
 */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
}

/** Lets stopped time pass. */
export const passTime = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

/** The most that passes in one turn: a timer of 100 ms leaves sockets twenty turns at least. */
const MAX_TURN_MS = 5;

let loopTimes = 0;

/**
 * Lets time pass with the turns of the event loop until the end of the test, as fast as real time at most. While the
 * machine is too busy for this process, its sockets and timers stand still alike.
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

/** How many turns of the event loop, of at least 1 ms, something takes: no more on a busy machine than on an idle one. */
export async function turnsOf(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await promise.catch(() => {});
  clearInterval(timer);
  return turns;
}
