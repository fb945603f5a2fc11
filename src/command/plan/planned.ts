import type { Command } from "commander";
import { type CountPlan, type ItemPlan, type PlanItemsOptions, readPlan } from "../../plan/index.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { type ConnectionFlags, connectionWords, withClient, withConnection } from "../connection.js";
import { CommandError, EXIT } from "../exit.js";
import { assertNotReplaced, fileOption, outputTarget, type Replacing, readInputFile, writeFile } from "../files.js";
import { withHelp } from "../help.js";
import {
  describeNumber,
  LineProblems,
  type RowFields,
  type RowFlags,
  type RowSource,
  rowSource,
  typedRows,
  withColumns,
} from "../read-rows/columns.js";
import type { RowFormat } from "../read-rows/file-rows.js";
import { commandLine } from "../shell.js";
import { painter, plural, print, printJson, type Style, seconds, tell, withProgress, wrapped } from "../terminal.js";

export interface PlanningFlags extends ConnectionFlags, RowFlags, Replacing {
  out?: string;
  exitCode?: true;
  json?: true;
}

/** Adds the options of every command that plans from the rows of a file. */
export const withPlanning = (command: Command, ...example: string[]): Command =>
  withHelp(
    withConnection(withColumns(command))
      .option("--out <file>", "write the plan as JSON, for stocklot apply (default: print it)", fileOption)
      .option("--json", "print the plan as JSON")
      .option("--force", "replace files that exist")
      .option("--exit-code", "exit with 4 if there is something to do"),
    { 4: "with --exit-code: there is something to do" },
    ...example,
  );

interface PlannedRows extends RowFields {
  /** The records that are read from the service, for messages. */
  noun: "items" | "lots";
  /** A row with these fields; `undefined` if it is to be left out. */
  rowOf(fields: Record<string, unknown>, format: RowFormat): object | undefined;
}

type Planning = Required<Pick<PlanItemsOptions, "client" | "signal" | "onProgress">>;

/** A row that was read, and where it is. */
interface PlacedRow {
  path: string;
  line: number;
  source: RowSource;
  row: object;
}

/**
 * Plans from the rows of files, one after the other, and writes or prints the plan. Messages name rows by their lines.
 *
 * @param plan also gets where each row is, by its index, as far as they were read
 */
export async function showPlan(
  paths: readonly string[],
  flags: PlanningFlags,
  planned: PlannedRows,
  plan: (
    rows: AsyncIterable<object>,
    planning: Planning,
    places: readonly PlacedRow[],
  ) => Promise<ItemPlan | CountPlan>,
): Promise<void> {
  const { out, exitCode, json } = flags;
  const places: PlacedRow[] = [];
  async function* rowsOfFiles() {
    for (const path of paths) {
      const source = rowSource(path, readInputFile(path), flags);
      for await (const { line, fields, problem } of typedRows(source, planned)) {
        if (problem !== undefined) throw new CommandError(`${path}: line ${line}: ${problem}.`);
        const row = planned.rowOf(fields, source.format);
        if (!row) continue;
        places.push({ path, line, source, row });
        yield row;
      }
    }
  }
  await withClient(flags, async (client, signal) => {
    if (out !== undefined) {
      outputTarget("--out", out);
      assertNotReplaced("--out", out, flags);
    }
    const computed = await withProgress((progress) => {
      const onProgress = ({ received, totalCount }: { received: number; totalCount: number }) =>
        progress(`${received} of ${totalCount} ${planned.noun} read`);
      return plan(rowsOfFiles(), { client, signal, onProgress }, places);
    }).catch((error: unknown) => {
      throw describeWrongRows(error, paths, places);
    });
    if (out !== undefined) await writePlan(computed, out, flags);
    if (json) await printJson(computed, 1);
    else if (out === undefined) await printPlanText(computed.toText());
    if (exitCode && !computed.isEmpty) process.exitCode = EXIT.somethingToDo;
  });
}

function describeWrongRows(error: unknown, paths: readonly string[], places: readonly PlacedRow[]): unknown {
  if (!(error instanceof InputValidationError)) return error;
  const others: string[] = [];
  const byRow = new Map<number, string[]>();
  for (const {
    path: [index, ...names],
    message,
  } of error.issues) {
    const ofLines = message.replace(/\brow (\d+)\b/g, (_, row) => `line ${places[Number(row)]?.line}`);
    if (typeof index !== "number") {
      const isOfAll = index === "desired" || index === "counted";
      others.push(isOfAll ? `${paths.join(", ")}: ${ofLines}` : `--${String(index)}: ${message}`);
      continue;
    }
    const place = places[index];
    const inWords = place && describeCell(fieldOf(place.row, String(names[0])), names[0], place.source);
    byRow.set(index, [...(byRow.get(index) ?? []), [...names, inWords ?? ofLines].join(": ")]);
  }
  const problems = new LineProblems();
  for (const [index, { path, line }] of places.entries())
    problems.addLine(`${path}: line ${line}`, byRow.get(index) ?? []);
  return new CommandError(`${[...others, ...problems.describe()].join("\n")}\nNothing was planned.`);
}

/** Describes what is wrong with a quantity, in the words of a person who counts. */
function describeCell(cell: unknown, field: unknown, source: RowSource): string | undefined {
  if (field !== "counted") return undefined;
  if (typeof cell === "string") return describeNumber(cell, source);
  return typeof cell === "number" ? `must be at least 0, not ${cell}` : "must be a number";
}

async function writePlan(plan: ItemPlan | CountPlan, out: string, flags: PlanningFlags): Promise<void> {
  await writeFile("--out", out, (write) => write(`${JSON.stringify(plan, null, 1)}\n`), flags);
  const { requests, durationMs } = plan.estimate();
  tell(plan.toText().split("\n", 1).join());
  if (plan.isEmpty) return tell(`${out}: nothing to write.`);
  tell(`${out}: about ${plural(requests, "request")}, ${seconds(durationMs)}. To apply it:`);
  const outbox = plan.kind === "count" ? ["--outbox", { blank: "file" }] : [];
  tell(`  ${commandLine("apply", out, ...outbox, ...connectionWords(flags))}`);
}

const LINE_STYLES: Readonly<Record<string, Style>> = { "+": "green", "~": "yellow", "-": "red", "!": "magenta" };

export async function printPlanText(text: string): Promise<void> {
  const paint = painter(process.stdout);
  for (const line of text.split("\n")) {
    const style = LINE_STYLES[line.charAt(0)];
    const shown = wrapped(line, 4);
    await print(style === undefined ? shown : paint(style, shown));
  }
}

export const openPlan = (path: string): ItemPlan | CountPlan => readPlan(parseJsonFile(path));

export function parseJsonFile(path: string): unknown {
  const text = readInputFile(path)
    .toString()
    .replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${path}: this is not JSON.`);
  }
}
