import { open, realpath, writeFile } from "node:fs/promises";
import { stringify } from "csv-stringify/sync";
import { CommandError, EXIT } from "../exit.js";
import { QUOTED_CELLS } from "../export/record-format.js";
import { reasonOf } from "../outbox/reason.js";
import { fileRows } from "../rows/file-rows.js";
import { plural, tell } from "../terminal.js";
import { type ImportSettings, REJECT_COLUMNS } from "./entries.js";
import type { OpenLine } from "./report.js";

/** Before anything is sent: the file can be written, and is not the one that is imported. */
export async function assertWritable(path: string, imported: string): Promise<void> {
  await (await open(path, "a")).close();
  if ((await realpath(path)) === (await realpath(imported).catch(() => undefined)))
    throw new CommandError(`--rejects: ${path} is the file to import. Choose another one.`, EXIT.usage);
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
  if (format === "ndjson") await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  else {
    const columns = new Set([...(await columnsOf(settings)), ...Object.values(REJECT_COLUMNS)]);
    const options = { columns: [...columns], delimiter, header: true, quoted_match: QUOTED_CELLS };
    await writeFile(path, stringify(rows, options));
  }
  tell(`${plural(rejected.length, "rejected line")} written to ${path}.`);
}

async function columnsOf(settings: ImportSettings): Promise<string[]> {
  for await (const { cells } of fileRows(settings)) return Object.keys(cells);
  return [];
}
