import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as buildEntry } from "tsup";
import { command } from "../../../tsup.config.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * The file of the command `stocklot`: that of an installed package if STOCKLOT_COMMAND names one, as in
 * `npm run test:package`; otherwise it is built from the source with the settings of the package, in a folder laid out like
 * the package, which takes a second. It then starts as fast as for users, and with the same contents.
 */
export async function builtCommand(): Promise<string> {
  // Files that share a process have modules of their own: the next one finds the path here, too.
  process.env.STOCKLOT_COMMAND ??= await build();
  return process.env.STOCKLOT_COMMAND;
}

async function build(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-command-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  // Its imports resolve #undici.
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await buildEntry({ ...command, config: false, silent: true, outDir: join(folder, "dist") });
  return join(folder, "dist/stocklot.cjs");
}
