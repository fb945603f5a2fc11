/** Returns the next number in [0, 1). */
export type RandomGenerator = () => number;

/** A generator of random numbers (mulberry32): 32 bits of state, the same numbers for the same seed on every machine. */
export function createRandomGenerator(seed: number): RandomGenerator {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A seed of its own for each record, so that a larger count does not change the records before. */
export function deriveSeed(seed: number, index: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  return mixed ^ (mixed >>> 15);
}

/** An integer from `min` to `max`, both included. */
export function randomInteger(random: RandomGenerator, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** Returns one of the choices. There must be at least one. */
export function randomChoice<T>(random: RandomGenerator, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

/** True in the given share of cases: `chance(random, 0.1)` in one of ten. */
export function randomBoolean(random: RandomGenerator, share: number): boolean {
  return random() < share;
}
