import { defineConfig, mergeConfig } from "vitest/config";
import base from "../../vitest.config.js";

/** The tests of `npm test`, which also record what they reach. */
export default defineConfig((env) =>
  mergeConfig(base(env), { test: { setupFiles: ["tools/mutation/reach.ts"], retry: 0 } }),
);
