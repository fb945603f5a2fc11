/** Whether everything runs, as in CI: `npm run test:all`. `npm test` runs less, so that it takes less than two minutes. */
export const RUN_ALL = process.env.STOCKLOT_TEST === "all";

/** Why a test is skipped that needs a server, a browser or minutes. */
export const ONLY_IN_TEST_ALL = "npm run test:all runs them";

const FEWEST = 10;

/** How often a random test runs: `all` times, or by `npm test` about a tenth of that. */
export function runs(all: number): number {
  return RUN_ALL ? all : Math.min(all, Math.max(FEWEST, Math.round(all / 10)));
}
