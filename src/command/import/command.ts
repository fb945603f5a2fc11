import { copyFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { InputValidationError } from "../../errors/index.js";
import { createOutbox, type Outbox, type OutboxReport, sqliteOutboxStore } from "../../outbox/index.js";
import { isFileMissingError } from "../../storage/storage-failure.js";
import { type ConnectionFlags, openClient, withConnection } from "../connection.js";
import { CommandError, durationOption, EXIT, failureOrInterruption, interruptSignal } from "../exit.js";
import { plural, print, seconds, tell, withProgress } from "../terminal.js";
import { beginDelivery, deliveryOf } from "./delivery.js";
import { type ImportOperation, type ImportSettings, OPERATIONS } from "./entries.js";
import { type EarlierImports, openEntries, report, reportComplete } from "./report.js";
import { validate, validRows } from "./validate.js";

interface ImportFlags extends ConnectionFlags {
  operation: ImportOperation;
  outbox: string;
  map?: ReadonlyMap<string, string>;
  key?: string;
  delivery?: string;
  delimiter?: string;
  mark?: "remark" | "serial";
  settle?: number;
  dryRun?: true;
  json?: true;
}

/** Entries that are added in one transaction. */
const BATCH = 500;

export function importCommand(): Command {
  const command = new Command("import")
    .description("send the lines of a CSV file as writes, each exactly once: run it again to continue")
    .addArgument(new Argument("<file>", "CSV file with a header: the names of the fields"))
    .addOption(new Option("--operation <name>", "what each line is").choices(OPERATIONS).makeOptionMandatory())
    .requiredOption("--outbox <file>", "SQLite file that keeps track of every line; keep it")
    .option("--map <column=field>", "the field of a column with another name; may be repeated", mapOption)
    .option("--delivery <name>", "name of the delivery that the file is (default: name of the file)", deliveryOption)
    .option("--key <column>", "column with a unique key per line, known to the whole outbox")
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
      "\nExit code: 0 if every line was applied, 1 if a person has to look at some, 2 if\na line is invalid, or the file is not the delivery that it seems to be (nothing\nis sent), 3 if the delivery was complete before.",
    )
    .action(importRows);
  return withConnection(command);
}

async function importRows(path: string, flags: ImportFlags): Promise<void> {
  const { operation, map = new Map(), key: keyColumn, delimiter = "," } = flags;
  const signal = interruptSignal();
  await assertFile(path);
  const folder = await mkdtemp(join(tmpdir(), "stocklot-import-"));
  try {
    const copy = join(folder, "copy");
    await copyFile(path, copy);
    // A column of keys alone identifies lines in the whole outbox, so that each file may contain earlier ones.
    const delivery = flags.delivery ?? (keyColumn === undefined ? basename(path) : undefined);
    const settings: ImportSettings = { path, copy, delimiter, operation, map, delivery, keyColumn, mark: flags.mark };
    await importCopy(settings, flags, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function importCopy(settings: ImportSettings, flags: ImportFlags, signal: AbortSignal): Promise<void> {
  const { lines: count, invalid, problems, digest, firstKey } = await validate(settings, signal);
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
    const imported = deliveryOf(settings, digest, count);
    const complete = imported && (await beginDelivery(outbox, imported, firstKey));
    if (complete) return await reportComplete(complete, await openEntries(outbox, settings), flags.json);
    const earlier = await store(outbox, settings, count, signal);
    const { durationMs } = await outbox.estimate();
    const before = earlier.settled > 0 ? `, of which ${earlier.settled} were sent by an earlier import` : "";
    tell(`${plural(count, "line")}${before}; about ${seconds(Math.max(durationMs, 1_000))}.`);
    const summary = await run(outbox, signal);
    await report(summary, earlier, await openEntries(outbox, settings), flags.json);
  } catch (error) {
    throw failureOrInterruption(error, signal, "run it again to continue");
  } finally {
    await outbox.close();
    await client.close();
  }
}

/** A pipe would be empty when it is read for the second time. */
async function assertFile(path: string): Promise<void> {
  const stats = await stat(path).catch((error: unknown) => {
    if (isFileMissingError(error)) throw new CommandError(`${path}: no such file.`, EXIT.usage);
    throw error;
  });
  if (!stats.isFile()) throw new CommandError(`${path} must be a file, since it is read twice.`, EXIT.usage);
}

/** Adds the lines to the outbox. Returns what earlier imports did with them. */
function store(outbox: Outbox, settings: ImportSettings, count: number, signal: AbortSignal): Promise<EarlierImports> {
  const { delivery } = settings;
  const earlier = { settled: 0, applied: 0, rejected: 0, unknown: 0 };
  return withProgress(async (progress) => {
    let stored = 0;
    for await (const batch of batches(validRows(settings))) {
      signal.throwIfAborted();
      const adding = delivery === undefined ? outbox.addMany(batch) : outbox.addLines(delivery, batch);
      const entries = await adding.catch((error: unknown) => {
        throw changedLineError(error) ?? error;
      });
      stored += entries.length;
      for (const { state } of entries) {
        if (state !== "pending" && state !== "sending") earlier.settled += 1;
        if (state === "applied" || state === "rejected" || state === "unknown") earlier[state] += 1;
      }
      progress.update(`${stored} of ${count} lines stored`);
    }
    return earlier;
  });
}

/** Lines were validated before, so that only their keys can be refused. */
function changedLineError(error: unknown): CommandError | undefined {
  if (!(error instanceof InputValidationError)) return undefined;
  const problems = error.issues.map(({ message }) => message).join(" ");
  return new CommandError(
    `${problems} Restore the line, or give the changed one a key of its own. Nothing was sent.`,
    EXIT.usage,
  );
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

function run(outbox: Outbox, signal: AbortSignal): Promise<OutboxReport> {
  return withProgress((progress) => {
    signal.addEventListener("abort", () => {
      progress.clear();
      tell("Waiting for requests under way; Ctrl-C again ends at once.");
    });
    return outbox.run({
      signal,
      onProgress: ({ applied, rejected, unknown, pending, etaMs }) =>
        progress.update(
          `${applied} applied, ${rejected} rejected, ${unknown} unknown, ${pending} pending, ${seconds(etaMs)} left`,
        ),
    });
  });
}

function deliveryOption(name: string): string {
  if (name.trim() !== "") return name;
  throw new InvalidArgumentError("It must be a name.");
}

export function delimiterOption(text: string): string {
  if (text === "tab" || text === "\\t") return "\t";
  if (text.length === 1 && !/["\r\n]/.test(text)) return text;
  throw new InvalidArgumentError("It must be one character other than a quote or a line break, or tab.");
}

export function mapOption(text: string, earlier: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [column, field, ...more] = text.split("=");
  if (!column || !field || more.length > 0) throw new InvalidArgumentError("It must be column=field.");
  return new Map([...earlier, [column.trim(), field.trim()]]);
}
