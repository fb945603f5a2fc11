import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests import the source under the names of the package. */
export const alias = [
  { find: /^stocklot$/, replacement: source("./src/index.ts") },
  { find: /^stocklot\/(\w+)$/, replacement: source("./src/$1/index.ts") },
];

export default defineConfig(({ mode }) => ({
  resolve: { alias },
  test: {
    include: ["test/**/*.test.ts"],
    // The packed package has a run of its own, since it must be built first: npm run test:package.
    exclude: ["test/package/**"],
    // Read by test/support/runs.ts. `--mode all` sets it on every platform.
    env: mode === "all" ? { STOCKLOT_TEST: "all" } : {},
    // These limits only keep a test from hanging for ever: no outcome depends on how fast the machine is.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // One module graph per worker, not per file: loading the sources would be a third of the time.
    isolate: mode === "all",
    setupFiles: mode === "all" ? [] : ["test/support/fresh-modules.ts"],
    // Most of the time tests wait, for timers and other processes: on two cores vitest would use one worker.
    maxWorkers: mode === "all" ? 2 : 3,
    // On a shared machine everything may stop for seconds in the middle of a race. A defect fails twice.
    retry: process.env.CI ? 1 : 0,
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary", "json-summary"] },
  },
}));
