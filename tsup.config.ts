import { defineConfig, type Options } from "tsup";

/** The entry points. Code that several of them use goes into shared chunks. */
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

/** Packages that are bundled into the sandbox, so that users need not install them. */
const bundled = ["big.js"];

/** Packages that are bundled into the command. Loading the hundred files of zod took half of its start time. */
const inCommand = ["commander", "csv-parse", "csv-stringify", "zod", "@modelcontextprotocol/server"];

/** ES modules that are bundled into the CommonJS build: a Node.js without require(esm) could not load them. */
const esmOnly = ["p-retry", "is-network-error"];

/** Replaces import() by require() in the CommonJS build, because Jest cannot run import() in a CommonJS module. */
const requireLazily: NonNullable<Options["plugins"]>[number] = {
  name: "require-lazily",
  renderChunk: (code) => ({
    code: code.replace(
      /\bimport\(("[^"]+")\)/g,
      "Promise.resolve(require($1)).then((m) => (m.__esModule ? m : { __proto__: m, default: m }))",
    ),
  }),
};

/** Builds all declarations together: if two builds declared a class, TypeScript would see two types. */
const types: Options = {
  ...shared,
  format: ["esm", "cjs"],
  // No check here: npm run typecheck checks the types.
  dts: { only: true, compilerOptions: { stripInternal: true, noCheck: true } },
};

/** Builds the command without shared chunks: commander is CommonJS, and its require() would get into all chunks of the library. */
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
    // With `treeshake`, Rollup writes the chunks as CommonJS and keeps their syntax.
    treeshake: true,
    noExternal: [...bundled, ...esmOnly],
    plugins: [requireLazily],
  },
  command,
]);
