import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { InputValidationError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { Outbox, OutboxEntry, OutboxReport } from "../../outbox/index.js";
import { createOutbox, sqliteOutboxStore } from "../../outbox/index.js";
import { type ConnectionFlags, openClient, withConnection } from "../connection.js";
import { CommandError, durationOption, EXIT, failureOrInterruption, interruptSignal } from "../exit.js";
import { ProgressLine, plural, print, seconds, table, tell } from "../terminal.js";
import { type CsvRow, csvRows } from "./csv-rows.js";
import {
  columnProblem,
  type ImportedRow,
  type ImportOperation,
  type ImportSettings,
  importedRow,
  OPERATIONS,
} from "./entries.js";

interface ImportFlags extends ConnectionFlags {
  operation: ImportOperation;
  outbox: string;
  map?: ReadonlyMap<string, string>;
  key?: string;
  delimiter?: string;
  mark?: "remark" | "serial";
  settle?: number;
  dryRun?: true;
  json?: true;
}

/** Entries that are added in one transaction. */
const BATCH = 500;
/** Wrong lines that are listed; the rest is only counted. */
const MAX_LISTED = 50;

export function importCommand(): Command {
  const command = new Command("import")
    .description("send the lines of a CSV file as writes, each exactly once: run it again to continue")
    .addArgument(new Argument("<file>", "CSV file with a header: the names of the fields"))
    .addOption(new Option("--operation <name>", "what each line is").choices(OPERATIONS).makeOptionMandatory())
    .requiredOption("--outbox <file>", "SQLite file that keeps track of every line; keep it")
    .option("--map <column=field>", "the field of a column with another name; may be repeated", mapOption)
    .option("--key <column>", "column with a unique key per line (default: name of the file and line number)")
    .option("--delimiter <text>", 'between two cells, for instance ";" or tab (default: ",")', delimiterOption)
    .addOption(
      new Option("--mark <field>", "mark each receipt there, to recognise it if its response is lost").choices([
        "remark",
        "serial",
      ]),
    )
    .option(
      "--settle <time>",
      "after this time a request without a response is applied or never will be (default: 60s)",
      durationOption,
    )
    .option("--dry-run", "only validate the lines")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nExit code: 0 if every line was applied, 1 if a person has to look at some, 2 if a line is invalid (nothing is sent).",
    )
    .action(importRows);
  return withConnection(command);
}

async function importRows(path: string, flags: ImportFlags): Promise<void> {
  const { operation, map = new Map(), key: keyColumn, delimiter = "," } = flags;
  const settings: ImportSettings = { path, operation, map, keyColumn };
  const signal = interruptSignal();
  const { lines: count, invalid, problems } = await validate(settings, delimiter, signal);
  if (flags.json && (flags.dryRun || invalid > 0)) await print(JSON.stringify({ lines: count, invalid, problems }));
  if (invalid > 0) throw new CommandError(`${invalid} of ${count} lines are invalid; nothing was sent.`, EXIT.usage);
  if (flags.dryRun) {
    if (!flags.json) await print(`${plural(count, "line")} ${count === 1 ? "is" : "are"} valid.`);
    return;
  }
  const client = await openClient(flags);
  const outbox = createOutbox({
    client,
    store: sqliteOutboxStore({ path: flags.outbox }),
    mark: flags.mark,
    settleMs: flags.settle,
  });
  try {
    const settled = await store(outbox, validRows(settings, delimiter), count, signal);
    const { durationMs } = await outbox.estimate();
    const before = settled > 0 ? `, of which ${settled} were sent by an earlier import` : "";
    tell(`${plural(count, "line")}${before}; about ${seconds(Math.max(durationMs, 1_000))}.`);
    const summary = await run(outbox, signal);
    await report(summary, await openEntries(outbox, settings, delimiter), flags.json);
  } catch (error) {
    throw failureOrInterruption(error, signal, "run it again to continue");
  } finally {
    await outbox.close();
    await client.close();
  }
}

/** Adds the lines to the outbox. Returns how many an earlier import has sent. */
async function store(
  outbox: Outbox,
  rows: AsyncIterable<ValidRow>,
  count: number,
  signal: AbortSignal,
): Promise<number> {
  const progress = new ProgressLine();
  let stored = 0;
  let settled = 0;
  try {
    for await (const batch of batches(rows)) {
      signal.throwIfAborted();
      const entries = await outbox.addMany(batch).catch((error: unknown) => {
        throw changedLineError(error) ?? error;
      });
      stored += entries.length;
      settled += entries.filter(({ state }) => state !== "pending" && state !== "sending").length;
      progress.update(`${stored} of ${count} lines stored`);
    }
    return settled;
  } finally {
    progress.clear();
  }
}

/** Lines were validated before, so that only their keys can be refused. */
function changedLineError(error: unknown): CommandError | undefined {
  if (!(error instanceof InputValidationError)) return undefined;
  const advice = "Restore the line, or give the changed file another name. Nothing was sent.";
  return new CommandError(`${error.issues.map(({ message }) => message).join(" ")} ${advice}`, EXIT.usage);
}

interface Validation {
  lines: number;
  invalid: number;
  /** Of the first invalid lines. */
  problems: { line: number; problems: string[] }[];
}

/** Reads the whole file before anything is stored or sent. */
async function validate(settings: ImportSettings, delimiter: string, signal: AbortSignal): Promise<Validation> {
  const result: Validation = { lines: 0, invalid: 0, problems: [] };
  const lineOfKey = new Map<string, number>();
  for await (const row of csvRows(settings.path, delimiter)) {
    if (signal.aborted) throw failureOrInterruption(signal.reason, signal, "nothing was sent");
    if (result.lines === 0) assertColumns(row, settings);
    result.lines += 1;
    const problems = problemsOf(row, settings, lineOfKey);
    if (problems.length === 0) continue;
    result.invalid += 1;
    if (result.invalid > MAX_LISTED) continue;
    result.problems.push({ line: row.line, problems });
    tell(`line ${row.line}: ${problems.join("; ")}`);
  }
  if (result.lines === 0) throw new CommandError(`${settings.path} has no lines.`, EXIT.usage);
  return result;
}

function problemsOf(row: CsvRow, settings: ImportSettings, lineOfKey: Map<string, number>): string[] {
  const imported = importedRow(row, settings);
  if ("problems" in imported) return imported.problems;
  // Without a column of keys, the key contains the number of the line.
  return settings.keyColumn === undefined ? [] : repeatedKey(imported.entry.key, row.line, lineOfKey);
}

/** Keys identify a line for ever, so two lines of a file must not share one. */
function repeatedKey(key: string, line: number, lineOfKey: Map<string, number>): string[] {
  const earlier = lineOfKey.get(key);
  lineOfKey.set(key, line);
  return earlier === undefined ? [] : [`the key "${key}" is that of line ${earlier}, too`];
}

function assertColumns(row: CsvRow, settings: ImportSettings): void {
  const problem = columnProblem(row, settings);
  if (problem !== undefined) throw new CommandError(problem, EXIT.usage);
}

type ValidRow = Extract<ImportedRow, { entry: object }>["entry"];

async function* validRows(settings: ImportSettings, delimiter: string): AsyncGenerator<ValidRow> {
  for await (const row of csvRows(settings.path, delimiter)) {
    const imported = importedRow(row, settings);
    if (!("entry" in imported)) throw new CommandError(`${settings.path} was changed while it was read.`);
    yield imported.entry;
  }
}

async function* batches<T>(rows: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

async function run(outbox: Outbox, signal: AbortSignal): Promise<OutboxReport> {
  const progress = new ProgressLine();
  signal.addEventListener("abort", () => {
    progress.clear();
    tell("Waiting for requests under way; Ctrl-C again ends at once.");
  });
  try {
    return await outbox.run({
      signal,
      onProgress: ({ applied, rejected, unknown, pending, etaMs }) =>
        progress.update(
          `${applied} applied, ${rejected} rejected, ${unknown} unknown, ${pending} pending, ${seconds(etaMs)} left`,
        ),
    });
  } finally {
    progress.clear();
  }
}

/** Entries that a person has to look at. */
interface OpenEntries {
  /** Of this file. */
  entries: OutboxEntry[];
  /** How many there are of other files. */
  others: number;
}

async function openEntries(outbox: Outbox, settings: ImportSettings, delimiter: string): Promise<OpenEntries> {
  const open = new Map<string, OutboxEntry>();
  for (const state of ["rejected", "unknown"] as const) {
    for await (const entry of outbox.entries({ state })) open.set(entry.key, entry);
  }
  const entries: OutboxEntry[] = [];
  if (open.size === 0) return { entries, others: 0 };
  for await (const { key } of validRows(settings, delimiter)) {
    const entry = open.get(key);
    if (entry) entries.push(entry);
  }
  return { entries, others: open.size - entries.length };
}

/** What was done, then each line that a person has to look at. */
async function report(summary: OutboxReport, open: OpenEntries, json: true | undefined): Promise<void> {
  const { applied, rejected, unknown, pending, heldBack } = summary;
  const { entries, others } = open;
  process.exitCode = entries.length > 0 || pending > 0 || heldBack > 0 ? EXIT.failure : EXIT.success;
  if (others > 0)
    tell(
      `${others === 1 ? "1 entry of earlier imports needs" : `${others} entries of earlier imports need`} your attention, too.`,
    );
  if (json) return print(JSON.stringify({ ...summary, open: entries }));
  await print(
    table(
      ["applied", "rejected", "unknown", "pending", "held back"],
      [[applied, rejected, unknown, pending, heldBack]],
    ),
  );
  if (entries.length === 0) return;
  await print("");
  await print(
    table(
      ["key", "state", "reason"],
      entries.map(({ key, state, error }) => [key, state, reasonOf(error)]),
    ),
  );
}

function reasonOf(error: OutboxEntry["error"]): string {
  return String(fieldOf(error, "message") ?? "");
}

function delimiterOption(text: string): string {
  if (text === "tab" || text === "\\t") return "\t";
  if (text.length === 1 && !/["\r\n]/.test(text)) return text;
  throw new InvalidArgumentError("It must be one character other than a quote or a line break, or tab.");
}

function mapOption(text: string, earlier: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [column, field, ...more] = text.split("=");
  if (!column || !field || more.length > 0) throw new InvalidArgumentError("It must be column=field.");
  return new Map([...earlier, [column.trim(), field.trim()]]);
}
