import { setImmediate as turn } from "node:timers/promises";
import type { Spread } from "./results.js";

/** Collects garbage, so that only reachable objects remain. */
export async function collectGarbage(): Promise<void> {
  await turn();
  globalThis.gc?.();
  await turn();
}

/** Returns the median and the quartiles. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => {
    const position = share * (sorted.length - 1);
    const below = sorted[Math.floor(position)] ?? Number.NaN;
    const above = sorted[Math.ceil(position)] ?? below;
    return below + (above - below) * (position - Math.floor(position));
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

export const medianOf = (values: readonly number[]) => spreadOf(values).median;
