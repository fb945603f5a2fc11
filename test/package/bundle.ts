import { dirname, extname, join } from "node:path";
import { project, run, tool } from "./consumer.js";

/** A folder outside the project. Inside, a bundle that still imports a package would find it. */
const out = join(dirname(project), "bundles");

/** Defines `require` in a bundled ES module. undici, which is CommonJS, needs it, and esbuild does not add it. */
export const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** Bundles a program of the project into one minified file, and returns its path. */
export async function esbuild(program: string, file: string, banner = "", more: string[] = []): Promise<string> {
  const output = join(out, file);
  const format = extname(file) === ".mjs" ? ["--format=esm", `--banner:js=${banner}`] : ["--format=cjs"];
  const flags = [
    "--bundle",
    "--minify",
    "--platform=node",
    "--target=node20",
    "--log-level=warning",
    ...format,
    ...more,
  ];
  const warnings = await run(project, tool("node_modules/.bin/esbuild"), program, ...flags, `--outfile=${output}`);
  if (warnings !== "") throw new Error(warnings);
  return output;
}

/** Does the same with webpack. */
export async function webpack(program: string, file: string): Promise<string> {
  const output = join(out, file);
  await run(project, process.execPath, tool("webpack.cjs"), `./${program}`, output);
  return output;
}
