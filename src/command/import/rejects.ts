import { access, constants, open, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { stringify } from "csv-stringify/sync";
import { isFileMissingError } from "../../storage/storage-failure.js";
import { CommandError, EXIT } from "../exit.js";
import { QUOTED_CELLS } from "../export/record-format.js";
import { reasonOf } from "../outbox/reason.js";
import { replaceFile } from "../replace-file.js";
import { fileRows } from "../rows/file-rows.js";
import { plural, tell } from "../terminal.js";
import { type ImportSettings, REJECT_COLUMNS } from "./entries.js";
import type { OpenLine } from "./report.js";

/** Before anything is sent: the file can be written, and is not the one that is imported. */
export async function assertWritable(path: string, imported: string): Promise<void> {
  // It is not created yet: perhaps nothing is imported.
  const file = await open(path, "r+").catch((error: unknown) => {
    if (!isFileMissingError(error)) throw error;
  });
  await (file ? file.close() : access(dirname(path), constants.W_OK));
  if (file && (await realpath(path)) === (await realpath(imported).catch(() => undefined)))
    throw new CommandError(`--rejects: ${path} is the file to import. Choose another one.`);
}

/**
 * Writes the rejected lines as they were imported, each with the reason and the key of its entry. An import of the corrected
 * file, as a delivery of its own, replaces these entries.
 */
export async function writeRejects(path: string, settings: ImportSettings, lines: readonly OpenLine[]): Promise<void> {
  const { format, delimiter } = settings;
  const rejected = lines.filter(({ entry }) => entry.state === "rejected");
  const rows = rejected.map(({ row, entry }) => ({
    ...row.cells,
    [REJECT_COLUMNS.reason]: reasonOf(entry.error),
    [REJECT_COLUMNS.replaces]: entry.key,
  }));
  const columns = new Set([...(await columnsOf(settings)), ...Object.values(REJECT_COLUMNS)]);
  const text =
    format === "ndjson"
      ? rows.map((row) => `${JSON.stringify(row)}\n`).join("")
      : stringify(rows, { columns: [...columns], delimiter, header: true, quoted_match: QUOTED_CELLS });
  await assertNothingLost(path, text);
  replaceFile(path, text);
  tell(`${plural(rejected.length, "rejected line")} written to ${path}.`);
}

/** A person may have begun to correct the file. */
async function assertNothingLost(path: string, text: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  if (!stats?.isFile()) return;
  const lines = new Set(text.split("\n"));
  const present = await readFile(path, "utf8");
  if (present.split("\n").every((line) => lines.has(line))) return;
  throw new CommandError(
    `--rejects: ${path} has lines that this import would not write again, so it was left as it is. ` +
      "Everything else is done. Run the same command again with another file for the rejected lines.",
    EXIT.failure,
  );
}

async function columnsOf(settings: ImportSettings): Promise<string[]> {
  for await (const { cells } of fileRows(settings)) return Object.keys(cells);
  return [];
}
