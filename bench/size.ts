/**
 * The size of the main entry as a bundler sees it: minified, without its dependencies.
 *
 * npx tsx bench/size.ts    fails when it is above the limit
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

export const MAX_MAIN_ENTRY_BYTES = 60_000;

export async function mainEntryBytes(): Promise<number> {
  const outDir = await mkdtemp(join(tmpdir(), "stocklot-size-"));
  const entry = { index: fileURLToPath(new URL("../src/index.ts", import.meta.url)) };
  try {
    // As tsup.config.ts builds it, and minified.
    const shared = { config: false, dts: false, silent: true, splitting: false } as const;
    await build({ ...shared, entry, outDir, format: "esm", target: "node20", treeshake: true, minify: true });
    return (await stat(join(outDir, "index.js"))).size;
  } finally {
    await rm(outDir, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bytes = await mainEntryBytes();
  console.log(`main entry, minified: ${(bytes / 1_000).toFixed(1)} KB of ${MAX_MAIN_ENTRY_BYTES / 1_000} KB`);
  if (bytes > MAX_MAIN_ENTRY_BYTES) process.exitCode = 1;
}
