import type { InventoryClient } from "../../client/index.js";
import { type CountPlan, type ItemPlan, readPlan } from "../../plan/index.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { messageOf } from "../../shared/unknown.js";
import { type ConnectionFlags, withClient } from "../connection.js";
import { CommandError, EXIT } from "../exit.js";
import { outputTarget, readInput, writeFile } from "../files.js";
import { type RowFields, type RowFlags, rowSource, typedRows } from "../rows/columns.js";
import type { RowFormat } from "../rows/file-rows.js";
import { commandLine } from "../shell.js";
import { painter, plural, print, type Style, seconds, tell, withProgress, wrapped } from "../terminal.js";

/** What a command that plans does with the plan. */
export interface PlanOutput {
  out?: string;
  exitCode?: true;
}

/** The rows of a CSV or NDJSON file, and the line of each that was read. */
export interface SourceRows {
  path: string;
  /** By index. */
  lines: number[];
  rows: AsyncIterable<object>;
}

/** @param rowOf a row with these fields; `undefined` if it is to be left out */
export function sourceRows(
  path: string,
  flags: RowFlags,
  expected: RowFields,
  rowOf: (fields: Record<string, unknown>, format: RowFormat) => object | undefined,
): SourceRows {
  const lines: number[] = [];
  async function* rows() {
    const source = rowSource(path, readInput(path), flags);
    for await (const { line, fields, problem } of typedRows(source, expected)) {
      if (problem !== undefined) throw new CommandError(`${path}: line ${line}: ${problem}.`);
      const row = rowOf(fields, source.format);
      if (!row) continue;
      lines.push(line);
      yield row;
    }
  }
  return { path, lines, rows: rows() };
}

/** What a plan is computed with. */
interface Planning {
  client: InventoryClient;
  signal: AbortSignal;
  onProgress: (progress: { received: number; totalCount: number }) => void;
}

/**
 * Plans from the rows of a file, and writes or prints the plan. Messages name rows by their lines.
 *
 * @param noun what is read from the service
 */
export async function showPlan(
  rows: SourceRows,
  flags: ConnectionFlags & PlanOutput,
  noun: "items" | "lots",
  plan: (planning: Planning) => Promise<ItemPlan | CountPlan>,
): Promise<void> {
  const { out, exitCode } = flags;
  await withClient(flags, async (client, signal) => {
    if (out !== undefined) outputTarget("--out", out);
    const planned = await withProgress((progress) =>
      plan({
        client,
        signal,
        onProgress: ({ received, totalCount }) => progress(`${received} of ${totalCount} ${noun} read`),
      }),
    ).catch((error: unknown) => {
      throw describeWrongRows(error, rows);
    });
    if (out !== undefined) await writeFile("--out", out, (write) => write(`${JSON.stringify(planned, null, 1)}\n`));
    await printPlan(planned, out);
    if (exitCode && !planned.isEmpty) process.exitCode = EXIT.somethingToDo;
  });
}

const LINE_STYLES: Readonly<Record<string, Style>> = { "+": "green", "~": "yellow", "-": "red", "!": "magenta" };

async function printPlan(planned: ItemPlan | CountPlan, out: string | undefined): Promise<void> {
  const { requests, durationMs } = planned.estimate();
  const text = planned.toText();
  if (out === undefined) return printPlanText(text);
  const outbox = planned.kind === "count" ? ["--outbox", "outbox.db"] : [];
  tell(text.split("\n", 1).join());
  tell(`${out}: about ${plural(requests, "request")}, ${seconds(durationMs)}. To apply it:`);
  tell(`  ${commandLine("apply", out, ...outbox)}`);
}

/** Prints what `toText` of a plan has returned. */
export async function printPlanText(text: string): Promise<void> {
  const paint = painter(process.stdout);
  for (const line of text.split("\n")) {
    const style = LINE_STYLES[line.charAt(0)];
    const shown = wrapped(line, 4);
    await print(
      style === undefined
        ? shown
        : shown
            .split("\n")
            .map((part) => paint(style, part))
            .join("\n"),
    );
  }
}

/** The plan of a file. */
export function openPlan(path: string): ItemPlan | CountPlan {
  try {
    return readPlan(parseJsonFile(path));
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(`${path}: ${messageOf(error)}`);
  }
}

function describeWrongRows(error: unknown, { path, lines }: SourceRows): unknown {
  if (!(error instanceof InputValidationError)) return error;
  const problems = error.issues.map(({ path: [index, ...names], message }) => {
    if (typeof index !== "number") return `--${String(index)}: ${message}`;
    const ofLines = message.replace(/\brow (\d+)\b/g, (_, row) => `line ${lines[Number(row)]}`);
    return `${path}: line ${lines[index]}: ${`${names.join(".")} ${ofLines}`.trim()}`;
  });
  return new CommandError(`${problems.join("\n")}\nNothing was planned.`);
}

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
