import { rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** In the package, so that what is not bundled is found from there. */
const FOLDER = join(ROOT, "node_modules/.cache/stocklot");

const sourceOf = (entry: string) => join(ROOT, "src", entry, "index.ts");
const ENTRIES = ["bottleneck", "mirror", "msw", "opentelemetry", "outbox", "plan", "redis", "sandbox"];

/** The package itself is built from its sources, since there may be no build of it yet. */
const SETTINGS = {
  alias: {
    // Bundled, too: its hundred files take longer to load than all else.
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

/** Builds several programs, which share what they import. */
export async function buildPrograms(entryPoints: { in: string; out: string }[], folder: string): Promise<void> {
  await build({
    ...SETTINGS,
    entryPoints,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    splitting: true,
  });
  // What is not bundled is found from there as from the repository.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}
