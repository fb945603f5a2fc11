/**
 * The size of the main entry as a bundler sees it: the built files minified, without dependencies.
 *
 * npm run build && npm run size    fails when importing the package loads more than is promised
 */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export const MOST_BYTES = 60_000;

export interface EntrySize {
  /** What an import loads, in bytes. */
  loaded: number;
  /** The same with what is loaded when it is first used. */
  all: number;
}

/** The size of a built ES module and of what it imports of its own. */
export async function minifiedSize(entry: URL): Promise<EntrySize> {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: "out",
    write: false,
    metafile: true,
  });
  const { outputs } = metafile;
  const loaded = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const { kind, path } of outputs[file]?.imports ?? [])
      if (kind === "import-statement" && outputs[path]) load(path);
  };
  for (const [file, { entryPoint }] of Object.entries(outputs)) if (entryPoint?.endsWith("index.js")) load(file);
  const sum = (files: Iterable<string>) => [...files].reduce((bytes, file) => bytes + (outputs[file]?.bytes ?? 0), 0);
  return { loaded: sum(loaded), all: sum(Object.keys(outputs)) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { loaded, all } = await minifiedSize(new URL("../dist/index.js", import.meta.url));
  const [size, most, total] = [loaded, MOST_BYTES, all].map((bytes) => `${(bytes / 1_000).toFixed(1)} KB`);
  console.log(`main entry, minified: ${size} (at most ${most}); ${total} with what is loaded when it is first used`);
  if (loaded > MOST_BYTES) process.exitCode = 1;
}
