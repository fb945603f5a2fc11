import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/package/*.test.ts"],
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
