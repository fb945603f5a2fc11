import { readFileSync, writeFileSync } from "node:fs";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { uncheckedAs } from "../../core/response/decode.js";
import { InputValidationError, UnexpectedRemovalsError } from "../../errors/index.js";
import { fieldOf, messageOf } from "../../errors/unknown-value.js";
import { createOutbox, sqliteOutboxStore } from "../../outbox/index.js";
import { type Plan, type PlanItemsOptions, type PlanReport, planItems, readPlan } from "../../plan/index.js";
import type { Item } from "../../service/item.js";
import { type ConnectionFlags, openClient, withConnection, withResponseValidation } from "../connection.js";
import { CommandError, EXIT, failureMessage, failureOrInterruption, interruptSignal } from "../exit.js";
import { delimiterOption, mapOption } from "../import/command.js";
import { painter, plural, print, printable, type Style, seconds, tell, withProgress } from "../terminal.js";
import { SourceRows } from "./source.js";

interface PlanFlags extends ConnectionFlags {
  map?: ReadonlyMap<string, string>;
  delimiter?: string;
  ignore?: string[];
  set?: ReadonlyMap<string, string>;
  fields?: string[];
  absent?: "keep" | "discontinue";
  owns?: ReadonlyMap<string, string>;
  maxDiscontinuedShare?: number;
  withStock?: true;
  ignoreStoredForms?: string;
  out?: string;
  exitCode?: true;
}

export function planCommand(): Command {
  const command = new Command("plan")
    .description("show which writes would make the catalog as a file says; sends no write")
    .addArgument(new Argument("<what>", "what the file contains").choices(["items"]))
    .argument("<file>", "CSV with a header, or .ndjson: one row per item, with its SKU (shortID)")
    .option("--out <file>", "write the plan as JSON, for stocklot apply (default: print it)")
    .option("--map <column=field>", "the field of a column with another name; may be repeated", mapOption)
    .option("--ignore <column>", "a column that is no field; may be repeated", collect)
    .option("--set <field=value>", "a value for every row; may be repeated", mapOption)
    .option("--delimiter <text>", 'between two cells, for instance ";" or tab (default: ",")', delimiterOption)
    .option("--fields <names>", "only compare these fields, separated by commas", namesOption)
    .addOption(
      new Option("--absent <what>", "what to do with active items that are not in the file (default: keep)").choices([
        "keep",
        "discontinue",
      ]),
    )
    .option("--owns <field=value>", "items that may be discontinued, such as category=12; may be repeated", mapOption)
    .option("--max-discontinued-share <share>", "refuse to discontinue more than this (default: 0.05)", shareOption)
    .option("--with-stock", "also discontinue items with stock")
    .option(
      "--ignore-stored-forms <file>",
      "report of stocklot apply --json: values that the service stores differently",
    )
    .option("--exit-code", "exit with 4 if there is something to do")
    .action(plan);
  return withResponseValidation(withConnection(command));
}

async function plan(_what: "items", path: string, flags: PlanFlags): Promise<void> {
  const { map = new Map(), delimiter = ",", ignore = [], set = new Map(), out } = flags;
  const signal = interruptSignal();
  const rows = new SourceRows({ path, delimiter, map, ignore, set });
  const options = planOptions(flags);
  const client = await openClient(flags);
  try {
    const planned = await withProgress((progress) =>
      planItems({
        ...options,
        client,
        // The rows are checked when they are read.
        desired: uncheckedAs<PlanItemsOptions["desired"]>(rows),
        signal,
        onProgress: ({ received, totalCount }) => progress.update(`${received} of ${totalCount} items read`),
      }),
    );
    if (out !== undefined) writeFileSync(out, `${JSON.stringify(planned, null, 1)}\n`);
    await printPlan(planned, out);
    if (flags.exitCode && !planned.isEmpty) process.exitCode = EXIT.somethingToDo;
  } catch (error) {
    throw failureOrInterruption(describeFailure(error, path, rows.lines), signal);
  } finally {
    await client.close();
  }
}

function planOptions(flags: PlanFlags): Omit<PlanItemsOptions, "client" | "desired"> {
  const { fields, absent, owns, maxDiscontinuedShare, withStock, ignoreStoredForms } = flags;
  if (absent === "discontinue" && !owns) {
    throw new CommandError("--absent discontinue needs --owns, such as --owns category=12.", EXIT.usage);
  }
  return {
    fields,
    absent,
    owns: owns && ((item: Item) => [...owns].every(([name, value]) => String(fieldOf(item, name)) === value)),
    maxDiscontinuedShare,
    withStock,
    ignoreStoredForms: ignoreStoredForms === undefined ? undefined : storedFormsIn(ignoreStoredForms),
  };
}

function storedFormsIn(path: string): PlanItemsOptions["ignoreStoredForms"] {
  const report: unknown = parseJsonFile(path);
  const forms = Array.isArray(report) ? report : fieldOf(report, "storedDifferently");
  return uncheckedAs<PlanItemsOptions["ignoreStoredForms"]>(forms ?? []);
}

const LINE_STYLES: Readonly<Record<string, Style>> = { "+": "green", "~": "yellow", "-": "red", "!": "magenta" };

async function printPlan(planned: Plan, out: string | undefined): Promise<void> {
  const { requests, durationMs } = planned.estimate();
  const text = planned.toText();
  if (out === undefined) {
    const paint = painter(process.stdout);
    const width = process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY;
    for (const line of text.split("\n")) {
      const style = LINE_STYLES[line.charAt(0)];
      const cut = line.length > width ? `${line.slice(0, width - 1)}…` : line;
      await print(style === undefined ? cut : paint(style, cut));
    }
  } else {
    tell(text.split("\n", 1).join());
    tell(`${out}: about ${plural(requests, "request")}, ${seconds(durationMs)}. Apply it with stocklot apply ${out}.`);
  }
}

/** Wrong rows are named by their lines. */
function describeFailure(error: unknown, path: string, lines: readonly number[]): unknown {
  if (error instanceof UnexpectedRemovalsError) {
    return new CommandError(error.message.replace("maxDiscontinuedShare", "--max-discontinued-share"));
  }
  if (!(error instanceof InputValidationError)) return error;
  const problems = error.issues.map(({ path: [index, ...names], message }) =>
    typeof index === "number"
      ? `${path}: line ${lines[index]}: ${names.join(".")} ${message}`.replaceAll(
          /row (\d+)/g,
          (_, row) => `line ${lines[Number(row)]}`,
        )
      : `${path}: ${message}`,
  );
  return new CommandError(`${problems.join("\n")}\nNothing was planned.`, EXIT.usage);
}

interface ApplyFlags extends ConnectionFlags {
  outbox: string;
  json?: true;
}

export function applyCommand(): Command {
  const command = new Command("apply")
    .description("send the writes of a plan, each exactly once: run it again to continue")
    .argument("<file>", "plan of stocklot plan --out")
    .requiredOption("--outbox <file>", "SQLite file that keeps track of every write; keep it")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nExit code: 0 if everything was applied, 1 if a person has to look at something,\n2 if the plan is refused.",
    )
    .action(apply);
  return withConnection(command);
}

async function apply(path: string, flags: ApplyFlags): Promise<void> {
  const planned = openPlan(path);
  const signal = interruptSignal();
  const client = await openClient(flags);
  const outbox = createOutbox({ client, store: sqliteOutboxStore({ path: flags.outbox }) });
  try {
    const report = await withProgress((progress) =>
      planned.apply({
        client,
        outbox,
        signal,
        onProgress: ({ done, total }) => progress.update(`${done} of ${total} items`),
      }),
    );
    await printReport(report, flags.json);
  } catch (error) {
    if (fieldOf(error, "name") === "ConfigurationError") throw new CommandError(messageOf(error), EXIT.usage);
    throw failureOrInterruption(error, signal, "run it again to continue");
  } finally {
    await outbox.close();
    await client.close();
  }
}

function openPlan(path: string): Plan {
  try {
    return readPlan(parseJsonFile(path));
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(`${path}: ${messageOf(error)}`, EXIT.usage);
  }
}

function parseJsonFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const message = error instanceof SyntaxError ? `${path}: this is not JSON.` : failureMessage(error);
    throw new CommandError(message, EXIT.usage);
  }
}

async function printReport(report: PlanReport, json: true | undefined): Promise<void> {
  const { applied, requests, durationMs, storedDifferently } = report;
  const groups = (["stale", "rejected", "unknown"] as const).flatMap((name) =>
    report[name].map(({ shortID, reason }) => `${name}: ${printable(shortID)}: ${printable(reason)}`),
  );
  if (groups.length > 0) process.exitCode = EXIT.failure;
  if (json) return print(JSON.stringify(report, null, 2));
  for (const line of groups) await print(line);
  for (const { shortID, field, sent, stored } of storedDifferently) {
    await print(
      printable(`stored differently: ${shortID}: ${field} ${JSON.stringify(sent)} as ${JSON.stringify(stored)}`),
    );
  }
  await print(`${plural(applied, "item")} applied, ${plural(requests, "request")}, ${seconds(durationMs)}.`);
}

const collect = (value: string, earlier: string[] = []) => [...earlier, value];

function namesOption(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("It must be names of fields, separated by commas.");
  return names;
}

function shareOption(text: string): number {
  const share = Number(text);
  if (text.trim() !== "" && share >= 0 && share <= 1) return share;
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}
