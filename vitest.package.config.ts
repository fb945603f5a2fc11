import { defineConfig } from "vitest/config";
import { alias } from "./vitest.config.js";

export default defineConfig({
  resolve: { alias },
  test: {
    // The tests of the command run the one of the packed package; its path is in STOCKLOT_COMMAND.
    include: ["test/package/*.test.ts", "test/command/*.test.ts"],
    env: { STOCKLOT_TEST: "all" },
    globalSetup: "test/package/global-setup.ts",
    // One compiler per core of CI.
    maxConcurrency: 2,
    maxWorkers: 2,
    // On a shared machine everything may stop for seconds in the middle of a race. A defect fails twice.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
