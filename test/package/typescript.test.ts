import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { project, run, versionsOf } from "./consumer.js";

const compilers = versionsOf("typescript").map(({ version, folder }) => ({ version, tsc: `${folder}/bin/tsc` }));

const STRICT = {
  target: "es2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: false,
  // The names that a user's declarations need must be exported too.
  declaration: true,
};

/** Compiles programs into a new folder, and returns the compiler's output. */
function compile(tsc: string, folder: string, name: string, options: object, files: string[]): Promise<string> {
  const config = join(folder, `tsconfig.${name}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...STRICT, outDir: name, ...options }, files }));
  return run(folder, process.execPath, tsc, "-p", config);
}

/** Settings of a project; each compiles for seconds. The first must do for every compiler, the others for the oldest and the newest. */
const PROJECTS: [module: string, moduleResolution: string, options: object, files: string[]][] = [
  ["nodenext", "nodenext", { lib: ["es2022"], types: ["node"] }, ["types.mts", "types.cts"]],
  ["node16", "node16", { lib: ["es2022"], types: [] }, ["types.mts", "types.cts"]],
  // msw's own declarations need the DOM's.
  ["esnext", "bundler", { lib: ["es2022", "dom", "dom.iterable"] }, ["types.mts", "msw.mts"]],
];
const FULLY_TRIED = ["5.4", "7.0"];

describe.concurrent.each(compilers)("TypeScript $version", ({ version, tsc }) => {
  it.each(
    FULLY_TRIED.includes(version) ? PROJECTS : PROJECTS.slice(0, 1),
  )("compiles with module %s and moduleResolution %s", async (module, moduleResolution, options, files) => {
    const name = `${moduleResolution}-${version}`;
    expect(await compile(tsc, project, name, { module, moduleResolution, ...options }, files)).toBe("");
  });
});

const compilerOf = (wanted: string) => compilers.find(({ version }) => version === wanted)?.tsc ?? "";

/** A project without @types/node, which neither stocklot nor its dependencies install. */
const bare = join(dirname(project), "bare");
const needed = ["stocklot", ...Object.keys(packageJson.dependencies)].map((name) => `node_modules/${name}`);
beforeAll(() => {
  for (const path of ["types.mts", ...needed]) cpSync(join(project, path), join(bare, path), { recursive: true });
});

it.concurrent.each([
  "5.4",
  "7.0",
])("shows wrong arguments to TypeScript %s also without @types/node", async (version) => {
  // Its declarations need them: the client takes an AbortSignal, for example. Most projects do not check libraries.
  const options = { module: "nodenext", moduleResolution: "nodenext", types: [], skipLibCheck: true };
  expect(await compile(compilerOf(version), bare, `bare-${version}`, options, ["types.mts"])).toBe("");
});

// TypeScript 7 no longer has node10.
it.concurrent.each([
  ["5.4", {}],
  ["6.0", { ignoreDeprecations: "6.0" }],
])("is compiled to CommonJS by TypeScript %s with moduleResolution node10, and runs", async (version, silence) => {
  const name = `node10-${version}`;
  const options = { module: "commonjs", moduleResolution: "node10", verbatimModuleSyntax: false, ...silence };
  expect(await compile(compilerOf(version), project, name, options, ["commonjs.ts"])).toBe("");
  expect(await run(project, process.execPath, join(name, "commonjs.js"))).toBe("300 lots");
});
