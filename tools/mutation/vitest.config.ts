import { defineConfig, mergeConfig } from "vitest/config";
import base from "../../vitest.config.js";

/** The tests of `npm test`. With `--mode reach` they also record what they reach. */
export default defineConfig((env) =>
  mergeConfig(base(env), {
    test: {
      setupFiles: env.mode === "reach" ? ["tools/mutation/reach.ts"] : [],
      // Only the file of the mutant is compiled again.
      experimental: { fsModuleCache: true },
      // Less than for ever, more than any test takes on a busy machine.
      testTimeout: 90_000,
      retry: 0,
    },
  }),
);
