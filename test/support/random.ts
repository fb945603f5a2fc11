import { createRandomGenerator } from "../../src/sandbox/data/random.js";

/** Returns a generator of numbers from 0 to 1. The same seed gives the same numbers. */
export const createRandom = createRandomGenerator;

/** Returns integers from 0 up to, but not including, a bound. The same seed gives the same integers. */
export type Random = (bound: number) => number;

export function seededRandom(seed: number): Random {
  const random = createRandom(seed);
  return (bound) => Math.floor(random() * bound);
}
