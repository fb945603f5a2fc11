import type { Command } from "commander";
import { type CountPlan, type ItemPlan, type PlanItemsOptions, readPlan } from "../../plan/index.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { type ConnectionFlags, withClient, withConnection } from "../connection.js";
import { CommandError, EXIT } from "../exit.js";
import { fileOption, outputTarget, readInput, writeFile } from "../files.js";
import { withHelp } from "../help.js";
import { type RowFields, type RowFlags, rowSource, typedRows, withColumns } from "../rows/columns.js";
import type { RowFormat } from "../rows/file-rows.js";
import { commandLine } from "../shell.js";
import { painter, plural, print, type Style, seconds, tell, withProgress, wrapped } from "../terminal.js";

export interface PlanningFlags extends ConnectionFlags, RowFlags {
  out?: string;
  exitCode?: true;
}

/** Adds the options of every command that plans from the rows of a file. */
export const withPlanning = (command: Command, ...example: string[]): Command =>
  withHelp(
    withConnection(withColumns(command))
      .option("--out <file>", "write the plan as JSON, for stocklot apply (default: print it)", fileOption)
      .option("--exit-code", "exit with 4 if there is something to do"),
    { 4: "with --exit-code: there is something to do" },
    ...example,
  );

/** What the rows of a file are for a plan. */
interface PlannedRows extends RowFields {
  /** What is read from the service. */
  noun: "items" | "lots";
  /** A row with these fields; `undefined` if it is to be left out. */
  rowOf(fields: Record<string, unknown>, format: RowFormat): object | undefined;
}

/** What a plan is computed with. */
type Planning = Required<Pick<PlanItemsOptions, "client" | "signal" | "onProgress">>;

/** Plans from the rows of a file, and writes or prints the plan. Messages name rows by their lines. */
export async function showPlan(
  path: string,
  flags: PlanningFlags,
  planned: PlannedRows,
  plan: (rows: AsyncIterable<object>, planning: Planning) => Promise<ItemPlan | CountPlan>,
): Promise<void> {
  const { out, exitCode } = flags;
  /** By index of the row. */
  const lines: number[] = [];
  async function* rowsOfFile() {
    const source = rowSource(path, readInput(path), flags);
    for await (const { line, fields, problem } of typedRows(source, planned)) {
      if (problem !== undefined) throw new CommandError(`${path}: line ${line}: ${problem}.`);
      const row = planned.rowOf(fields, source.format);
      if (!row) continue;
      lines.push(line);
      yield row;
    }
  }
  await withClient(flags, async (client, signal) => {
    if (out !== undefined) outputTarget("--out", out);
    const computed = await withProgress((progress) => {
      const onProgress = ({ received, totalCount }: { received: number; totalCount: number }) =>
        progress(`${received} of ${totalCount} ${planned.noun} read`);
      return plan(rowsOfFile(), { client, signal, onProgress });
    }).catch((error: unknown) => {
      throw describeWrongRows(error, path, lines);
    });
    if (out === undefined) await printPlanText(computed.toText());
    else await writePlan(computed, out);
    if (exitCode && !computed.isEmpty) process.exitCode = EXIT.somethingToDo;
  });
}

function describeWrongRows(error: unknown, file: string, lines: readonly number[]): unknown {
  if (!(error instanceof InputValidationError)) return error;
  const problems = error.issues.map(({ path: [index, ...names], message }) => {
    const ofLines = message.replace(/\brow (\d+)\b/g, (_, row) => `line ${lines[Number(row)]}`);
    if (index === "desired" || index === "counted") return `${file}: ${ofLines}`;
    if (typeof index !== "number") return `--${String(index)}: ${message}`;
    return `${file}: line ${lines[index]}: ${[...names, ofLines].join(": ")}`;
  });
  return new CommandError(`${problems.join("\n")}\nNothing was planned.`);
}

async function writePlan(plan: ItemPlan | CountPlan, out: string): Promise<void> {
  await writeFile("--out", out, (write) => write(`${JSON.stringify(plan, null, 1)}\n`));
  const { requests, durationMs } = plan.estimate();
  tell(plan.toText().split("\n", 1).join());
  tell(`${out}: about ${plural(requests, "request")}, ${seconds(durationMs)}. To apply it:`);
  tell(`  ${commandLine("apply", out, ...(plan.kind === "count" ? ["--outbox", "outbox.db"] : []))}`);
}

const LINE_STYLES: Readonly<Record<string, Style>> = { "+": "green", "~": "yellow", "-": "red", "!": "magenta" };

/** Prints what `toText` of a plan has returned. */
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
  const text = readInput(path)
    .toString()
    .replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${path}: this is not JSON.`);
  }
}
