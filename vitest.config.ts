import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { QuickModeReporter } from "./test/support/quick-mode-reporter.js";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const all = { STOCKLOT_TEST: "all" };
const LIMIT_MS = 600_000;

/** The test files that take longest. Some compute, others wait. */
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

/** Starts the longest files first: a long file that starts last would run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place === -1 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}

/** Quick tests by default; `--mode all`: also tests that need minutes or servers; `--mode package`: tests of the packed package. */
const MODES = {
  quick: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/package/**"],
    reporters: ["default", new QuickModeReporter()],
  },
  // `env` is for test/support/runs.ts. It is set here because a mode works on every platform.
  all: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/package/**"],
    env: all,
    sequence: { sequencer: LongestFirst },
    // Many of these tests wait for processes, or for the leases of killed processes.
    maxWorkers: 5,
  },
  package: {
    // The tests start the command of the packed package: global-setup.ts stores its path in STOCKLOT_COMMAND.
    include: ["test/package/*.test.ts", "test/command/processes/*.test.ts"],
    env: all,
    sequence: { sequencer: LongestFirst },
    globalSetup: "test/package/global-setup.ts",
    // One compiler per core of CI.
    maxConcurrency: 2,
    // The tests of the command wait for the leases of killed processes, and for slow services.
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
    // Files share a worker: loading all modules again for each file would take a third of the time.
    isolate: false,
    setupFiles: ["test/support/fresh-modules.ts"],
    // Tests mostly wait for timers and other processes, so two cores can run three workers. By default, vitest would use one.
    maxWorkers: 3,
    ...(mode === "all" || mode === "package" ? MODES[mode] : MODES.quick),
    // These limits only keep a test from hanging for ever: no outcome depends on how fast the machine is.
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: LIMIT_MS / 2 } },
    // On a shared machine, a process may stand still for seconds, which can fail a test. A real defect fails again.
    retry: process.env.CI ? 1 : 0,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/command/**"],
      reporter: ["text-summary", "json-summary"],
    },
  },
}));
