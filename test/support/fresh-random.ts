import { onTestFailed } from "vitest";
import { createRandom } from "./random.js";

/** Returns a generator with a new seed in each run, for tests that cannot be repeated exactly. A failed test prints its seed. */
export function createFreshRandom(): () => number {
  const seed = Number(process.env.STOCKLOT_SEED ?? Date.now() % 2 ** 31);
  onTestFailed(() => console.info(`STOCKLOT_SEED=${seed} repeats the random numbers.`));
  return createRandom(seed);
}
