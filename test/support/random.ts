import { createRandomGenerator } from "../../src/sandbox/data/random.js";

/** A generator of numbers from 0 to 1 that a seed repeats. */
export const createRandom = createRandomGenerator;

/** Integers from 0 up to, not including, a bound; the same ones for the same seed. */
export type Random = (bound: number) => number;

export function seededRandom(seed: number): Random {
  const random = createRandom(seed);
  return (bound) => Math.floor(random() * bound);
}
