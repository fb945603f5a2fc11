/** Whether all tests run completely, as in CI (`npm run test:all`). `npm test` runs fewer, so that it ends within a minute. */
export const RUN_ALL = process.env.STOCKLOT_TEST === "all";

/** The reason for skipping a test that needs a server, a browser or minutes. */
export const ONLY_IN_TEST_ALL = "npm run test:all runs them";

const FEWEST = 4;

/** Returns the number of runs of a random test: `all`, or in `npm test` about a twentieth, but at least four. */
export function runs(all: number): number {
  return RUN_ALL ? all : Math.min(all, Math.max(FEWEST, Math.round(all / 20)));
}

/** Whether random worlds run completely: `npm run explore`. */
export const EXPLORES = process.env.STOCKLOT_EXPLORE !== undefined;

/** Returns the number of random worlds: `all` in `npm run explore`, a tenth in `npm run test:all`, a twentieth in `npm test`. */
export function worlds(all: number): number {
  return EXPLORES ? all : Math.max(FEWEST, Math.round(all / (RUN_ALL ? 10 : 20)));
}
