import { rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A folder inside the package, from which imports that are not bundled are found. */
const FOLDER = join(ROOT, "node_modules/.cache/stocklot");

const sourceOf = (entry: string) => join(ROOT, "src", entry, "index.ts");
const ENTRIES = ["bottleneck", "mirror", "msw", "opentelemetry", "outbox", "plan", "redis", "sandbox"];

/** Settings of a build that bundles the sources of the package, since the package may not have been built. */
const SETTINGS = {
  alias: {
    // zod is bundled too, because loading its hundred files takes longer than everything else.
    zod: join(ROOT, "node_modules/zod/index.js"),
    "zod/locales": join(ROOT, "node_modules/zod/locales/index.js"),
    stocklot: sourceOf(""),
    ...Object.fromEntries(ENTRIES.map((entry) => [`stocklot/${entry}`, sourceOf(entry)])),
  },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  logLevel: "error",
} satisfies BuildOptions;

/** Bundles a program into one JavaScript file, which starts several times as fast as its sources. Returns the path. */
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

/** Bundles several programs. They share the code that they import. */
export async function buildPrograms(entryPoints: { in: string; out: string }[], folder: string): Promise<void> {
  await build({
    ...SETTINGS,
    entryPoints,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    splitting: true,
  });
  // Imports that are not bundled are found through this link.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}
