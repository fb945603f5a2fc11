import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/package/*.test.ts"],
    globalSetup: "test/package/global-setup.ts",
    // As many compilers side by side as there are cores in CI.
    maxConcurrency: 2,
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
