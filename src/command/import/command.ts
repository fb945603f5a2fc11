import { statSync } from "node:fs";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import { Argument, Command, Option } from "commander";
import type { InventoryClient } from "../../client/index.js";
import type { Outbox } from "../../outbox/for-rooms.js";
import type { OutboxState } from "../../outbox/index.js";
import { untilAborted } from "../../shared/time/wait.js";
import { type ConnectionFlags, withClient, withConnection } from "../connection.js";
import { outboxStoreOf, withOutbox } from "../database.js";
import { CommandError, durationOption, failureOrInterruption, interruptSignal } from "../exit.js";
import { readInputFile } from "../files.js";
import { withHelp } from "../help.js";
import { runWithProgress } from "../outbox/change.js";
import { type RowFlags, rowSource, setOption, withColumns } from "../read-rows/columns.js";
import { ROW_FORMATS } from "../read-rows/file-rows.js";
import { plural, printable, printJson, tell } from "../terminal.js";
import { begin } from "./begin.js";
import { showDryRun } from "./dry-run.js";
import { type ImportOperation, type ImportSettings, OPERATION_NAMES, readLines } from "./lines.js";
import { importOutcomeOf, report, reportComplete } from "./outcome.js";

interface ImportFlags extends ConnectionFlags, RowFlags {
  operation: ImportOperation;
  outbox: string;
  key?: string;
  delivery?: string;
  corrects?: true;
  mark: "remark" | "serial" | "none";
  settle?: number;
  dryRun?: true;
  json?: true;
}

export function importCommand(): Command {
  const command = withColumns(new Command("import"))
    .description("send the lines of a file as writes, each exactly once: run it again to continue")
    .addArgument(new Argument("<file>", "CSV with a header (the names of the fields), NDJSON, or - for standard input"))
    .addOption(
      new Option("--operation <name>", "the operation of each line").choices(OPERATION_NAMES).makeOptionMandatory(),
    )
    .requiredOption("--outbox <file>", "SQLite file (or postgres:// address) that keeps track of every line; keep it")
    .option("--delivery <name>", "name of this delivery (default: name of the file)")
    .option("--corrects", "the file is a corrected version: changed lines replace rejected ones, new ones are added")
    .option("--key <column>", "column with a unique key per line, known to the whole outbox")
    .option("--set <field=value>", "a value for every line; may be repeated", setOption)
    .addOption(
      new Option("--format <name>", "format of the file (default: by its name, otherwise csv)").choices(ROW_FORMATS),
    )
    .addOption(
      new Option("--mark <field>", "field for the mark that identifies a receipt whose response is lost")
        .choices(["remark", "serial", "none"])
        .default("remark"),
    )
    .option(
      "--settle <time>",
      "after this time, a request without a response can no longer take effect (default: 60s)",
      durationOption,
    )
    .option("--dry-run", "show what would be booked, and look up the SKUs; sends no write")
    .option("--json", "print the report as JSON")
    .action(importRows);
  return withHelp(
    withConnection(command),
    {
      1: "a line is rejected or unknown, or still open",
      2: "a line is invalid, or lines differ from an earlier import; nothing was sent",
      3: "every line was settled before; nothing was sent",
    },
    "stocklot import day.csv --operation receive --outbox outbox.db",
  );
}

const STANDARD_INPUT = "-";

async function importRows(path: string, flags: ImportFlags): Promise<void> {
  const { operation, key: keyColumn, mark, outbox: outboxFile, corrects = false, delivery, dryRun, json } = flags;
  const signal = interruptSignal();
  const isStandardInput = path === STANDARD_INPUT;
  if (isStandardInput && delivery === undefined && keyColumn === undefined)
    throw new CommandError("standard input has no name. Set --delivery, or --key.");
  if (delivery === "") throw new CommandError("--delivery must not be empty.");
  const shownPath = isStandardInput ? "standard input" : path;
  const settings: ImportSettings = {
    ...rowSource(shownPath, await contentsOf(path, signal), flags),
    name: printable(delivery ?? shownPath),
    operation,
    // A column of keys alone identifies lines in the whole outbox, so that each file may contain earlier ones.
    deliveryName: delivery ?? (keyColumn === undefined ? basename(path) : undefined),
    keyColumn,
    mark: mark === "none" ? false : mark,
    corrects,
    outboxFile,
  };
  const { lines, count, invalid, problems } = await readLines(settings, signal);
  if (json && invalid > 0) await printJson({ lines: count, invalid, problems });
  if (invalid > 0)
    throw new CommandError(
      `${invalid} of ${plural(count, "line")} ${invalid === 1 ? "is" : "are"} invalid; nothing was sent.`,
    );
  if (dryRun) {
    const show = (client?: InventoryClient) => showDryRun(lines, settings, { client, signal, json });
    const isConfigured = (flags.baseUrl ?? process.env.STOCKLOT_BASE_URL ?? "") !== "";
    return isConfigured ? withClient(flags, show, undefined, signal) : show();
  }
  const store = outboxStoreOf("--outbox", outboxFile, "create");
  const importInto = async (outbox: Outbox) => {
    signal.throwIfAborted();
    const begun = await begin(outbox, settings, lines);
    if (begun.completeSince !== undefined)
      return reportComplete(await importOutcomeOf(outbox, lines), begun.completeSince, settings, json);
    const { applied = 0, rejected = 0, unknown = 0 } = begun.earlier;
    const before = applied + rejected + unknown;
    tell(`${plural(count, "line")}${before > 0 ? `, of which ${before} were sent by an earlier import` : ""}.`);
    const results = new Map<string, OutboxState>();
    const run = await runWithProgress(outbox, signal, ({ key, state }) => void results.set(key, state));
    await report(await importOutcomeOf(outbox, lines, results), run, begun, settings, json);
  };
  const work = (client: InventoryClient) =>
    withOutbox({ client, store, mark: settings.mark, settleMs: flags.settle }, importInto);
  await withClient(flags, work, "run it again to continue", signal);
}

/** A file is read once: it may change meanwhile. */
async function contentsOf(path: string, signal: AbortSignal): Promise<Buffer> {
  if (path === STANDARD_INPUT)
    return untilAborted(signal, buffer(process.stdin)).catch((error: unknown) => {
      throw failureOrInterruption(error, signal, "nothing was sent");
    });
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats && !stats.isFile())
    throw new CommandError(`${path} must be a file. To read a pipe, import - (standard input).`);
  return readInputFile(path);
}
