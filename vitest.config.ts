import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { QuickModeReporter } from "./test/support/quick-mode-reporter.js";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const all = { STOCKLOT_TEST: "all" };
const LIMIT_MS = 600_000;

/** Files that take longest, some by computing and some by waiting. */
const LONGEST = [
  "outbox/simulation/simulation",
  "docs/site",
  "plan/counting",
  "examples/examples",
  "connection/proxies",
  "docs/recipes",
  "search/requests",
  "mirror/schedules",
  "docs/run",
  "search/exact",
  "command/doctor",
  "redis/processes",
  "connection/keep-alive",
  "outbox/kill/kill",
  "mirror/databases",
  "command/processes/interrupt",
  "package/bundlers",
  "command/processes/terminal",
  "package/node",
];

/** The longest files come first: the last one would run alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place === -1 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}

/** What to run: the quick tests, `--mode all` also those that need minutes or servers, or `--mode package` the packed package. */
const MODES = {
  quick: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/package/**"],
    reporters: ["default", new QuickModeReporter()],
  },
  // Read by test/support/runs.ts. A mode sets it on every platform.
  all: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/package/**"],
    env: all,
    sequence: { sequencer: LongestFirst },
    // Many of these tests wait for processes and for leases of those that were killed.
    maxWorkers: 5,
  },
  package: {
    // The command that is started is the one of the packed package; its path is in STOCKLOT_COMMAND.
    include: ["test/package/*.test.ts", "test/command/processes/*.test.ts"],
    env: all,
    sequence: { sequencer: LongestFirst },
    globalSetup: "test/package/global-setup.ts",
    // One compiler per core of CI.
    maxConcurrency: 2,
    // The tests of the command wait for leases of processes that were killed, and for slow services.
    maxWorkers: 5,
  },
};

export default defineConfig(({ mode }) => ({
  resolve: {
    // Tests import the source under the names of the package.
    alias: [
      { find: /^stocklot$/, replacement: source("./src/index.ts") },
      { find: /^stocklot\/(\w+)$/, replacement: source("./src/$1/index.ts") },
    ],
  },
  test: {
    // One module graph per worker, not per file: loading the sources would be a third of the time.
    isolate: false,
    setupFiles: ["test/support/fresh-modules.ts"],
    // Most of the time tests wait, for timers and other processes: on two cores vitest would use one worker.
    maxWorkers: 3,
    ...(mode === "all" || mode === "package" ? MODES[mode] : MODES.quick),
    // These limits only keep a test from hanging for ever: no outcome depends on how fast the machine is.
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: LIMIT_MS / 2 } },
    // On a shared machine everything may stop for seconds in the middle of a race. A defect fails twice.
    retry: process.env.CI ? 1 : 0,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/command/**"],
      reporter: ["text-summary", "json-summary"],
    },
  },
}));
