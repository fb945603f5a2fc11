import { createHash } from "node:crypto";
import { CommandError, failureOrInterruption } from "../exit.js";
import { fileRows, type Row } from "../rows/file-rows.js";
import { tell } from "../terminal.js";
import { columnProblem, type ImportedRow, type ImportSettings, importedRow, type ValidRow } from "./entries.js";

/** Wrong lines that are listed; the rest is only counted. */
const MAX_LISTED = 50;

interface Validation {
  lines: number;
  invalid: number;
  /** Of the first invalid lines. */
  problems: { line: number; problems: string[] }[];
  /** SHA-256 of the writes: operation and input of each line, in order. */
  digest: string;
}

/** Reads the whole file before anything is stored or sent. */
export async function validate(settings: ImportSettings, signal: AbortSignal): Promise<Validation> {
  const result: Omit<Validation, "digest"> = { lines: 0, invalid: 0, problems: [] };
  const digest = createHash("sha256");
  const lineOfKey = new Map<string, number>();
  for await (const row of fileRows(settings)) {
    if (signal.aborted) throw failureOrInterruption(signal.reason, signal, "nothing was sent");
    if (result.lines === 0 && settings.format === "csv") assertColumns(row, settings);
    result.lines += 1;
    const imported = importedRow(row, settings);
    if ("entry" in imported) digest.update(imported.entry.inputHash);
    const problems = problemsOf(imported, settings, lineOfKey);
    if (problems.length === 0) continue;
    result.invalid += 1;
    if (result.invalid > MAX_LISTED) continue;
    result.problems.push({ line: row.line, problems });
    tell(`line ${row.line}: ${problems.join("; ")}`);
  }
  if (result.lines === 0) throw new CommandError(`${settings.path} has no lines.`);
  return { ...result, digest: digest.digest("hex") };
}

function problemsOf(imported: ImportedRow, { keyColumn }: ImportSettings, lineOfKey: Map<string, number>): string[] {
  if ("problems" in imported) return imported.problems;
  // Otherwise the key contains the number of the line.
  if (keyColumn === undefined) return [];
  const { line, entry } = imported;
  const earlier = lineOfKey.get(entry.key);
  lineOfKey.set(entry.key, line);
  // Keys identify a line for ever, so two lines of a file must not share one.
  return earlier === undefined ? [] : [`the key "${entry.key}" is that of line ${earlier}, too`];
}

function assertColumns(row: Row, settings: ImportSettings): void {
  const problem = columnProblem(row, settings);
  if (problem !== undefined) throw new CommandError(problem);
}

export async function* validRows(settings: ImportSettings): AsyncGenerator<ValidRow> {
  for await (const row of fileRows(settings)) {
    const imported = importedRow(row, settings);
    if ("entry" in imported) yield imported;
  }
}
