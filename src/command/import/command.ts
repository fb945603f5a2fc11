import { createWriteStream } from "node:fs";
import { copyFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import type { InventoryClient } from "../../client/index.js";
import type { DeliveryOutbox } from "../../outbox/delivery-outbox.js";
import type { Outbox, OutboxReport } from "../../outbox/index.js";
import { isFileMissingError } from "../../storage/storage-failure.js";
import { type ConnectionFlags, withClient, withConnection } from "../connection.js";
import { outboxStoreOf } from "../database.js";
import { CommandError, durationOption, failureOrInterruption, interruptSignal } from "../exit.js";
import { withOutbox } from "../outbox/action.js";
import { runOutbox } from "../outbox/change.js";
import { type RowFlags, rowSettings, setOption, withColumns } from "../rows/columns.js";
import { ROW_FORMATS, type RowFormat, rowFormatOf } from "../rows/file-rows.js";
import { plural, print, seconds, tell } from "../terminal.js";
import { begin } from "./begin.js";
import { deliveryOf } from "./delivery.js";
import { type ImportOperation, type ImportSettings, OPERATIONS, validate } from "./lines.js";
import { assertWritable, endedCount, openEntries, report, reportComplete, writeRejects } from "./report.js";

interface ImportFlags extends ConnectionFlags, RowFlags {
  operation: ImportOperation;
  outbox: string;
  key?: string;
  delivery?: string;
  corrects?: true;
  rejects?: string;
  format?: RowFormat;
  mark?: "remark" | "serial";
  settle?: number;
  dryRun?: true;
  json?: true;
}

export function importCommand(): Command {
  const command = withColumns(new Command("import"))
    .description("send the lines of a file as writes, each exactly once: run it again to continue")
    .addArgument(new Argument("<file>", "CSV with a header (the names of the fields), NDJSON, or - for standard input"))
    .addOption(new Option("--operation <name>", "what each line is").choices(OPERATIONS).makeOptionMandatory())
    .requiredOption("--outbox <file>", "SQLite file (or postgres:// address) that keeps track of every line; keep it")
    .option("--delivery <name>", "name of the delivery that the file is (default: name of the file)", deliveryOption)
    .option("--corrects", "the file is a corrected version of its delivery: send the difference")
    .option("--rejects <file>", "write the rejected lines there, with reasons, to correct and import them")
    .option("--key <column>", "column with a unique key per line, known to the whole outbox")
    .option("--set <field=value>", "a value for every line; may be repeated", setOption)
    .addOption(new Option("--format <name>", "of the file (default: by its name, otherwise csv)").choices(ROW_FORMATS))
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

/** As an argument, instead of a file. */
const STANDARD_INPUT = "-";

async function importRows(path: string, flags: ImportFlags): Promise<void> {
  const { operation, key: keyColumn, mark, outbox: outboxFile, corrects = false } = flags;
  const signal = interruptSignal();
  const isStandardInput = path === STANDARD_INPUT;
  if (corrects && keyColumn !== undefined && flags.delivery === undefined)
    throw new CommandError("--corrects needs a delivery. Name it with --delivery.");
  if (isStandardInput && flags.delivery === undefined && keyColumn === undefined)
    throw new CommandError("standard input has no name. Set --delivery, or --key.");
  if (flags.rejects !== undefined) await assertWritable(flags.rejects, path);
  // A column of keys alone identifies lines in the whole outbox, so that each file may contain earlier ones.
  const deliveryName = flags.delivery ?? (keyColumn === undefined ? basename(path) : undefined);
  const format = flags.format ?? rowFormatOf(path);
  const folder = await mkdtemp(join(tmpdir(), "stocklot-import-"));
  try {
    const copy = await copyOf(path, folder, signal);
    const file = { path: isStandardInput ? "standard input" : path, copy, format, isStandardInput };
    const destination = { deliveryName, keyColumn, mark, corrects, outboxFile };
    await importCopy({ ...file, ...rowSettings(flags), operation, ...destination }, flags, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function importCopy(settings: ImportSettings, flags: ImportFlags, signal: AbortSignal): Promise<void> {
  const { lines: count, invalid, problems, digest } = await validate(settings, signal);
  if (flags.json && (flags.dryRun || invalid > 0)) await print(JSON.stringify({ lines: count, invalid, problems }));
  if (invalid > 0) throw new CommandError(`${invalid} of ${count} lines are invalid; nothing was sent.`);
  if (flags.dryRun) {
    if (!flags.json) await print(`${plural(count, "line")} ${count === 1 ? "is" : "are"} valid.`);
    return;
  }
  const { mark, settle: settleMs, json } = flags;
  const store = outboxStoreOf("--outbox", flags.outbox, "create");
  const importInto = async (outbox: DeliveryOutbox) => {
    signal.throwIfAborted();
    const delivery = deliveryOf(settings, digest, count);
    const { complete, earlierStates } = await begin(outbox, settings, delivery);
    const summary = complete ? undefined : await send(outbox, count, endedCount(earlierStates), signal);
    const open = await openEntries(outbox, settings);
    if (complete) await reportComplete(complete, open, json);
    if (summary) await report(summary, earlierStates, open, json);
    if (flags.rejects !== undefined) await writeRejects(flags.rejects, settings, open.lines);
  };
  const work = (client: InventoryClient) => withOutbox({ client, store, mark, settleMs }, importInto);
  await withClient(flags, work, "run it again to continue", signal);
}

async function send(outbox: Outbox, lines: number, sent: number, signal: AbortSignal): Promise<OutboxReport> {
  const { durationMs } = await outbox.estimate();
  const before = sent > 0 ? `, of which ${sent} were sent by an earlier import` : "";
  tell(`${plural(lines, "line")}${before}; about ${seconds(Math.max(durationMs, 1_000))}.`);
  return runOutbox(outbox, signal);
}

/** Where the file is copied, since it is read several times and may change meanwhile. */
async function copyOf(path: string, folder: string, signal: AbortSignal): Promise<string> {
  const copy = join(folder, "copy");
  if (path === STANDARD_INPUT) {
    const copying = pipeline(process.stdin, createWriteStream(copy, { mode: 0o600 }), { signal });
    await copying.catch((error: unknown) => {
      throw failureOrInterruption(error, signal, "nothing was sent");
    });
    return copy;
  }
  const stats = await stat(path).catch((error: unknown) => {
    if (isFileMissingError(error)) throw new CommandError(`${path}: no such file.`);
    throw error;
  });
  if (!stats.isFile()) throw new CommandError(`${path} must be a file. To read a pipe, import - (standard input).`);
  await copyFile(path, copy);
  return copy;
}

function deliveryOption(name: string): string {
  if (name.trim() !== "") return name;
  throw new InvalidArgumentError("It must be a name.");
}
