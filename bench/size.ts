/**
 * The size of the main entry as a bundler sees it: the built file minified, without its dependencies.
 *
 * npm run build && npm run size    fails when it is above the limit
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

export const MAX_MAIN_ENTRY_BYTES = 60_000;

/** The size of a built ES module without comments, spaces and long names. */
export async function minifiedBytes(file: URL): Promise<number> {
  const outDir = await mkdtemp(join(tmpdir(), "stocklot-size-"));
  const entry = { index: fileURLToPath(file) };
  try {
    await build({
      config: false,
      entry,
      outDir,
      format: "esm",
      target: "node20",
      dts: false,
      silent: true,
      minify: true,
    });
    return (await stat(join(outDir, "index.js"))).size;
  } finally {
    await rm(outDir, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bytes = await minifiedBytes(new URL("../dist/index.js", import.meta.url));
  console.log(`main entry, minified: ${(bytes / 1_000).toFixed(1)} KB of ${MAX_MAIN_ENTRY_BYTES / 1_000} KB`);
  if (bytes > MAX_MAIN_ENTRY_BYTES) process.exitCode = 1;
}
