/**
 * The size of the main entry as a bundler sees it: the built file minified, without its dependencies.
 *
 * npm run build && npm run size    fails when it has grown beyond what CI allows
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

/** What the main entry is to weigh in the end. */
export const TARGET_BYTES = 60_000;
/** What it may weigh meanwhile; to be lowered with it, never raised. */
const MOST_BYTES = 67_000;

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
  const [size, most, target] = [bytes, MOST_BYTES, TARGET_BYTES].map((count) => `${(count / 1_000).toFixed(1)} KB`);
  console.log(`main entry, minified: ${size} (at most ${most}; the target is ${target})`);
  if (bytes > MOST_BYTES) process.exitCode = 1;
}
