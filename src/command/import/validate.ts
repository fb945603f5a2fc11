import { createHash } from "node:crypto";
import type { NewOutboxEntry } from "../../outbox/index.js";
import { CommandError, EXIT, failureOrInterruption } from "../exit.js";
import { tell } from "../terminal.js";
import { type CsvRow, csvRows } from "./csv-rows.js";
import { columnProblem, type ImportedRow, type ImportSettings, importedRow } from "./entries.js";

/** Wrong lines that are listed; the rest is only counted. */
const MAX_LISTED = 50;

interface Validation {
  lines: number;
  invalid: number;
  /** Of the first invalid lines. */
  problems: { line: number; problems: string[] }[];
  /** SHA-256 of the writes: operation and input of each line, in order. */
  digest: string;
  /** The key of the first valid line. */
  firstKey: string;
}

/** Reads the whole file before anything is stored or sent. */
export async function validate(settings: ImportSettings, signal: AbortSignal): Promise<Validation> {
  const result: Omit<Validation, "digest" | "firstKey"> = { lines: 0, invalid: 0, problems: [] };
  const digest = createHash("sha256");
  let firstKey: string | undefined;
  const lineOfKey = new Map<string, number>();
  for await (const row of csvRows(settings)) {
    if (signal.aborted) throw failureOrInterruption(signal.reason, signal, "nothing was sent");
    if (result.lines === 0) assertColumns(row, settings);
    result.lines += 1;
    const imported = importedRow(row, settings);
    if ("inputHash" in imported) {
      digest.update(imported.inputHash);
      firstKey ??= imported.entry.key;
    }
    const problems = problemsOf(imported, settings, lineOfKey);
    if (problems.length === 0) continue;
    result.invalid += 1;
    if (result.invalid > MAX_LISTED) continue;
    result.problems.push({ line: row.line, problems });
    tell(`line ${row.line}: ${problems.join("; ")}`);
  }
  if (result.lines === 0) throw new CommandError(`${settings.path} has no lines.`, EXIT.usage);
  return { ...result, digest: digest.digest("hex"), firstKey: firstKey ?? "" };
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

function assertColumns(row: CsvRow, settings: ImportSettings): void {
  const problem = columnProblem(row, settings);
  if (problem !== undefined) throw new CommandError(problem, EXIT.usage);
}

/** The lines of a validated file as entries. */
export async function* validRows(settings: ImportSettings): AsyncGenerator<NewOutboxEntry> {
  for await (const row of csvRows(settings)) {
    const imported = importedRow(row, settings);
    if ("entry" in imported) yield imported.entry;
  }
}
