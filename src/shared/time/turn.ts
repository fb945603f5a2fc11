import { monotonicNowMs } from "./clock.js";

/**
 * Resolves when all timers that are due have run, together with the callbacks that they have started. Fake timers do
 * not delay it.
 */
export function nextTurn(): Promise<void> {
  if (typeof MessageChannel === "undefined") return Promise.resolve();
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    const end = () => {
      port1.close();
      resolve();
    };
    port2.addEventListener("message", end, { once: true });
    port2.start();
    port1.postMessage(undefined);
  });
}

/** How long synchronous work may take before timers, sockets and signals get a turn, in ms. */
const MAX_BLOCKED_MS = 8;
let lastTurnAt = 0;

/** Lets the event loop run, if it has not run for a while. */
export async function giveTurn(): Promise<void> {
  if (Math.abs(monotonicNowMs() - lastTurnAt) < MAX_BLOCKED_MS) return;
  await nextTurn();
  lastTurnAt = monotonicNowMs();
}

/** Maps values as `Array.map` does. The event loop runs meanwhile. */
export async function mapInTurns<T, R>(values: readonly T[], map: (value: T, index: number) => R): Promise<R[]> {
  const mapped: R[] = [];
  for (const [index, value] of values.entries()) {
    mapped.push(map(value, index));
    await giveTurn();
  }
  return mapped;
}
