import { defineConfig, type Options } from "tsup";

/** One entry point each; what they have in common goes into chunks that they share. */
const entry = {
  index: "src/index.ts",
  redis: "src/redis/index.ts",
  bottleneck: "src/bottleneck/index.ts",
  mirror: "src/mirror/index.ts",
  outbox: "src/outbox/index.ts",
  plan: "src/plan/index.ts",
  sandbox: "src/sandbox/index.ts",
  msw: "src/msw/index.ts",
  opentelemetry: "src/opentelemetry/index.ts",
};

const shared: Options = {
  entry,
  outDir: "dist",
  target: "node20",
  platform: "node",
  splitting: true,
  removeNodeProtocol: false,
  external: ["#undici"],
};

/** The sandbox brings its decimals along, so that users install nothing more. */
const bundled = ["big.js"];

/** The command brings them along. The hundred files of zod took half of its start. */
const inCommand = ["commander", "csv-parse", "csv-stringify", "zod", "@modelcontextprotocol/server"];

/** What only an ES module can import goes into the CommonJS copy: a Node without require(esm) could not load it. */
const esmOnly = ["p-retry", "is-network-error"];

/** In CommonJS, modules that are loaded at first use are required: Jest cannot import() there. */
const requireLazily: NonNullable<Options["plugins"]>[number] = {
  name: "require-lazily",
  renderChunk: (code) => ({
    code: code.replace(
      /\bimport\(("[^"]+")\)/g,
      "Promise.resolve(require($1)).then((m) => (m.__esModule ? m : { __proto__: m, default: m }))",
    ),
  }),
};

/** All types in one build: a class that is declared twice would be two types. */
const types: Options = {
  ...shared,
  format: ["esm", "cjs"],
  // Checked by npm run typecheck.
  dts: { only: true, compilerOptions: { stripInternal: true, noCheck: true } },
};

/** The command shares no chunks with the library: commander is CommonJS, whose require() would get into all of them. */
export const command: Options = {
  ...shared,
  entry: { stocklot: "src/command/main.ts" },
  format: "cjs",
  splitting: false,
  minify: true,
  noExternal: [...bundled, ...esmOnly, ...inCommand],
};

export default defineConfig(({ dts }) => [
  ...(dts === false ? [] : [types]),
  {
    ...shared,
    entry: { ...entry, "no-undici": "src/client/transport/no-undici.ts" },
    format: "esm",
    noExternal: bundled,
  },
  {
    ...shared,
    format: "cjs",
    // Rollup writes the chunks as CommonJS without lowering their syntax.
    treeshake: true,
    noExternal: [...bundled, ...esmOnly],
    plugins: [requireLazily],
  },
  command,
]);
