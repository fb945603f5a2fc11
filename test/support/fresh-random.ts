import { onTestFailed } from "vitest";
import { createRandom } from "./random.js";

/** Random numbers that differ in each run, for a test whose order of events does too. A failed test prints their seed. */
export function createFreshRandom(): () => number {
  const seed = Number(process.env.STOCKLOT_SEED ?? Date.now() % 2 ** 31);
  onTestFailed(() => console.info(`STOCKLOT_SEED=${seed} repeats the random numbers.`));
  return createRandom(seed);
}
