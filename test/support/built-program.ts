import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** In the package, so that what is not bundled is found from there. */
const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/stocklot", import.meta.url));

/** The path of a program as one file of JavaScript, which starts several times as fast as its sources. */
export async function builtProgram(source: URL): Promise<string> {
  const outfile = join(FOLDER, `${basename(source.pathname, ".ts")}-${process.pid}.mjs`);
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  process.once("exit", () => rmSync(outfile, { force: true }));
  return outfile;
}
