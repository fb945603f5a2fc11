import { monotonicNowMs } from "./clock.js";

/** Captured, since fake timers of a test would stop what waits for a turn. */
const nextTurn = globalThis.setImmediate;
/** For how long synchronous work may go on before timers, sockets and signals have their turn, in ms. */
const MAX_BLOCKED_MS = 8;
let lastTurnAt = 0;

/** Lets the event loop run, if it has not for a while. */
export async function giveTurn(): Promise<void> {
  if (Math.abs(monotonicNowMs() - lastTurnAt) < MAX_BLOCKED_MS) return;
  await new Promise<void>((resolve) => nextTurn(resolve));
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
