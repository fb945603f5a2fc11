import { defineConfig, mergeConfig } from "vitest/config";
import base from "../../vitest.config.js";

/** Runs the tests of `npm test`. With `--mode reach`, they also record the functions that they reach. */
export default defineConfig((env) =>
  mergeConfig(base(env), {
    test: {
      setupFiles: env.mode === "reach" ? ["tools/mutation/reach.ts"] : [],
      // Only the file with the mutant has to be compiled again.
      experimental: { fsModuleCache: true },
      // More than any test takes on a busy machine, so that only a test that hangs fails.
      testTimeout: 90_000,
      retry: 0,
    },
  }),
);
