import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { project, run, versionsOf } from "./consumer.js";

const compilers = new Map(versionsOf("typescript").map(({ version, folder }) => [version, `${folder}/bin/tsc`]));

const STRICT = {
  target: "es2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  // All declarations are checked, except for those of the compiler.
  skipLibCheck: false,
  skipDefaultLibCheck: true,
  // The compiler then fails if a name that a user's declarations need is not exported.
  declaration: true,
};

/** Compiles programs into a new folder, and returns the compiler's output. */
function compile(version: string, folder: string, name: string, options: object, files: string[]): Promise<string> {
  const config = join(folder, `tsconfig.${name}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...STRICT, outDir: name, ...options }, files }));
  return run(folder, process.execPath, compilers.get(version) ?? "", "-p", config);
}

/** One setting for every compiler; the other settings mostly for the oldest and the newest, because each takes seconds. */
const PROJECTS: [version: string, module: string, moduleResolution: string, options: object, files: string[]][] = [
  ...[...compilers.keys()].map((version): (typeof PROJECTS)[number] => {
    const options = { lib: ["es2022"], types: ["node"] };
    return [version, "nodenext", "nodenext", options, ["types.mts", "types.cts"]];
  }),
  ["5.4", "node16", "node16", { lib: ["es2022"], types: [] }, ["types.mts", "types.cts"]],
  // The declarations of msw need those of the DOM.
  ["5.4", "esnext", "bundler", { lib: ["es2022", "dom", "dom.iterable"] }, ["types.mts", "msw.mts"]],
  ["7.0", "esnext", "bundler", { lib: ["es2022", "dom", "dom.iterable"] }, ["types.mts", "msw.mts"]],
];

it("is compiled with every supported TypeScript version", () => {
  expect([...compilers.keys()]).toEqual(["5.4", "6.0", "7.0"]);
});

it.concurrent.each(
  PROJECTS,
)("is compiled by TypeScript %s with module %s and moduleResolution %s", async (version, module, moduleResolution, options, files) => {
  const name = `${moduleResolution}-${version}`;
  expect(await compile(version, project, name, { module, moduleResolution, ...options }, files)).toBe("");
});

/** A project without @types/node, which neither stocklot nor its dependencies install. */
const bare = join(dirname(project), "bare");
const needed = ["stocklot", ...Object.keys(packageJson.dependencies)].map((name) => `node_modules/${name}`);
beforeAll(() => {
  for (const path of ["types.mts", ...needed]) cpSync(join(project, path), join(bare, path), { recursive: true });
});

it.concurrent("shows wrong arguments also without @types/node", async () => {
  // skipLibCheck, as in most projects: stocklot's declarations need @types/node, for example for AbortSignal.
  const options = { module: "nodenext", moduleResolution: "nodenext", types: [], skipLibCheck: true };
  expect(await compile("7.0", bare, "bare", options, ["types.mts"])).toBe("");
});

// TypeScript 7 does not support node10.
it.concurrent("is compiled to CommonJS with moduleResolution node10, and runs", async () => {
  const silence = { verbatimModuleSyntax: false, ignoreDeprecations: "6.0" };
  const options = { module: "commonjs", moduleResolution: "node10", ...silence };
  expect(await compile("6.0", project, "node10", options, ["commonjs.ts"])).toBe("");
  expect(await run(project, process.execPath, join("node10", "commonjs.js"))).toBe("300 lots");
});
