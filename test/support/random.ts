/** A generator of numbers from 0 to 1 that a seed repeats. */
export { createRandomGenerator as createRandom } from "../../src/sandbox/data/random.js";
