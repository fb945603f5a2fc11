import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/package/*.test.ts"],
    globalSetup: "test/package/global-setup.ts",
    // As many compilers side by side as there are cores in CI.
    maxConcurrency: 2,
    maxWorkers: 2,
    // A machine that others use may stop for seconds in the middle of a race. What is wrong is so twice.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
