import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as buildEntry } from "tsup";
import { command } from "../../../tsup.config.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Returns the path of the command `stocklot`. If STOCKLOT_COMMAND is set, as in `npm run test:package`, the path is that of an
 * installed package. Otherwise the command is built from the source with the settings of the package, which takes a second.
 * The built command has the same contents and starts as fast as the published command.
 */
export async function builtCommand(): Promise<string> {
  // Test files of one worker share the environment but not their modules. The next file takes the path from here.
  process.env.STOCKLOT_COMMAND ??= await build();
  return process.env.STOCKLOT_COMMAND;
}

async function build(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-command-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  // The `imports` of package.json resolve #undici.
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await buildEntry({ ...command, config: false, silent: true, outDir: join(folder, "dist") });
  return join(folder, "dist/stocklot.cjs");
}
