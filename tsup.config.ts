import { defineConfig, type Options } from "tsup";

const shared: Options = {
  outDir: "dist",
  target: "node20",
  platform: "node",
  splitting: false,
};

/** What only an ES module can import goes into the CommonJS copy: a Node without require(esm) could not load it. */
const esmOnly = ["p-retry", "is-network-error"];

/** What is loaded at first use is required in CommonJS: Jest cannot import() in there. */
const requireLazily: Options["esbuildOptions"] = (options) => {
  options.supported = { "dynamic-import": false };
};

/** The sandbox brings its router and its decimals along, so that users install nothing more. */
const bundledIntoSandbox = ["hono", "big.js"];

/** All types in one build, which share what they have in common: a class that is declared twice would be two types. */
const types: Options = {
  ...shared,
  entry: {
    index: "src/index.ts",
    redis: "src/redis/index.ts",
    bottleneck: "src/bottleneck/index.ts",
    mirror: "src/mirror/index.ts",
    sandbox: "src/sandbox/index.ts",
    msw: "src/msw/index.ts",
  },
  format: ["esm", "cjs"],
  dts: { only: true, compilerOptions: { stripInternal: true } },
};

export default defineConfig(({ dts }) => [
  ...(dts === false ? [] : [types]),
  // What few programs need is loaded when they do: splitting puts it into files of its own.
  {
    ...shared,
    entry: { index: "src/index.ts" },
    format: "esm",
    treeshake: { moduleSideEffects: false },
    splitting: true,
  },
  { ...shared, entry: { index: "src/index.ts" }, format: "cjs", noExternal: esmOnly, esbuildOptions: requireLazily },
  {
    ...shared,
    entry: { redis: "src/redis/index.ts", bottleneck: "src/bottleneck/index.ts" },
    format: ["esm", "cjs"],
  },
  { ...shared, entry: { mirror: "src/mirror/index.ts" }, format: "esm" },
  { ...shared, entry: { mirror: "src/mirror/index.ts" }, format: "cjs", esbuildOptions: requireLazily },
  {
    ...shared,
    entry: { sandbox: "src/sandbox/index.ts", msw: "src/msw/index.ts" },
    format: ["esm", "cjs"],
    noExternal: bundledIntoSandbox,
  },
  {
    ...shared,
    entry: { "stocklot-sandbox": "src/sandbox/cli.ts" },
    format: "esm",
    noExternal: bundledIntoSandbox,
  },
]);
