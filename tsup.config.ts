import { defineConfig, type Options } from "tsup";

const shared: Options = {
  outDir: "dist",
  target: "node20",
  platform: "node",
  treeshake: true,
  splitting: false,
  dts: { compilerOptions: { stripInternal: true } },
};

/** What only an ES module can import goes into the CommonJS copy: a Node without require(esm) could not load it. */
const esmOnly = ["p-retry", "is-network-error"];

/** The sandbox brings its router along, so that users install nothing more. */
const bundledIntoSandbox = ["hono", "@hono/node-server"];

export default defineConfig([
  { ...shared, entry: { index: "src/index.ts" }, format: "esm" },
  { ...shared, entry: { index: "src/index.ts" }, format: "cjs", noExternal: esmOnly },
  {
    ...shared,
    entry: { sandbox: "src/sandbox/index.ts" },
    format: ["esm", "cjs"],
    noExternal: bundledIntoSandbox,
  },
]);
