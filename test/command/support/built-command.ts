import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";
import { afterAll } from "vitest";
import { command } from "../../../tsup.config.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * The file of the command `stocklot`: that of an installed package if STOCKLOT_COMMAND names one, as in
 * `npm run test:package`; otherwise it is built from the source with the settings of the package, in a folder laid out like
 * the package, which takes a second. It then starts as fast as for users, and with the same contents.
 */
export async function builtCommand(): Promise<string> {
  if (process.env.STOCKLOT_COMMAND) return process.env.STOCKLOT_COMMAND;
  const folder = mkdtempSync(join(tmpdir(), "stocklot-command-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  // Its imports resolve #undici.
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await build({ ...command, config: false, silent: true, outDir: join(folder, "dist") });
  return join(folder, "dist/stocklot.cjs");
}
