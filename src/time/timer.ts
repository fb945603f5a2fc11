/** Node fires a longer timer immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The monotonic clock, in ms. Looked up at each call, as the timers are, so that the fake clock of a test drives it. */
export const monotonicNowMs = () => performance.now();

/**
 * Calls back after a time of any length, `Infinity` included. Returns a function that stops the timer. The global
 * `setTimeout` is looked up at each call, so that the fake timers of a test drive it.
 */
export function startTimer(delayMs: number, callback: () => void): () => void {
  if (delayMs === Infinity) return () => {};
  let timer: ReturnType<typeof setTimeout>;
  const arm = (remainingMs: number) => {
    const stepMs = Math.min(remainingMs, MAX_TIMER_MS);
    timer = setTimeout(() => (remainingMs > stepMs ? arm(remainingMs - stepMs) : callback()), stepMs);
  };
  arm(Math.max(0, delayMs));
  return () => clearTimeout(timer);
}
