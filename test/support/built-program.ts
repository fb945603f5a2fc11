import { rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** In the package, so that what is not bundled is found from there. */
const FOLDER = join(ROOT, "node_modules/.cache/stocklot");

const SETTINGS = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  logLevel: "error",
} as const;

/** The path of a program as one file of JavaScript, which starts several times as fast as its sources. */
export async function builtProgram(source: URL): Promise<string> {
  const outfile = join(FOLDER, `${basename(source.pathname, ".ts")}-${process.pid}.mjs`);
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile,
    ...SETTINGS,
  });
  process.once("exit", () => rmSync(outfile, { force: true }));
  return outfile;
}

/** Builds programs that import the package, against its sources: there may be no build of it yet. */
export async function buildPrograms(entryPoints: { in: string; out: string }[], folder: string): Promise<void> {
  const source = (path: string) => join(ROOT, "src", path, "index.ts");
  const entries = ["bottleneck", "mirror", "msw", "opentelemetry", "outbox", "plan", "redis", "sandbox"];
  await build({
    ...SETTINGS,
    entryPoints,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    splitting: true,
    alias: {
      stocklot: source(""),
      ...Object.fromEntries(entries.map((entry) => [`stocklot/${entry}`, source(entry)])),
    },
  });
  // What is not bundled is found from there as from the repository.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}
