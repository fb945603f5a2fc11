import { resolve } from "node:path";
import { Command } from "commander";
import * as z from "zod";
import { planCountOfSheets } from "../../plan/for-rooms.js";
import { type CountSnapshot, type PlanCountOptions, takeSnapshot } from "../../plan/index.js";
import { castUnchecked } from "../../shared/unknown.js";
import { type ConnectionFlags, connectionWords, withClient, withConnection } from "../connection.js";
import { CommandError, integerOption } from "../exit.js";
import { assertNotReplaced, fileOption, outputTarget, type Replacing, writeFile } from "../files.js";
import { withHelp } from "../help.js";
import { commandLine } from "../shell.js";
import { plural, printJson, tell, withProgress } from "../terminal.js";
import { type PlanningFlags, parseJsonFile, showPlan, withPlanning } from "./planned.js";
import { countSheet, groupsToRecount, sheetGroups } from "./sheet.js";

export function countCommand(): Command {
  return new Command("count")
    .description("compare counted quantities with the lots of a warehouse")
    .addCommand(snapshotCommand())
    .addCommand(countPlanCommand());
}

interface SnapshotFlags extends ConnectionFlags, Replacing {
  json?: true;
  wid: number;
  out: string;
  sheet?: string;
  blind?: true;
}

function snapshotCommand(): Command {
  const command = new Command("snapshot")
    .description("store the lots of a warehouse before people count")
    .requiredOption("--wid <n>", "warehouse ID", integerOption(0))
    .requiredOption("--out <file>", "write the snapshot there; stocklot count plan needs it", fileOption)
    .option("--sheet <file>", "write a CSV for the counters, sorted by bin", fileOption)
    .option("--blind", "leave the quantities out of the sheet")
    .option("--force", "replace files that exist; a sheet may have been filled in")
    .option("--json", "print what was stored as JSON")
    .action(snapshot);
  const example = "stocklot count snapshot --wid 3 --out before.json --sheet sheet.csv";
  return withHelp(withConnection(command), {}, example);
}

function snapshot({ wid, out, sheet, blind, force, json, ...connection }: SnapshotFlags): Promise<void> {
  assertOutputs({ "--out": out, "--sheet": sheet }, { force });
  return withClient(connection, async (client, signal) => {
    const taken = await withProgress((progress) =>
      takeSnapshot({
        client,
        wid,
        signal,
        onProgress: ({ received, totalCount }) => progress(`${received} of ${totalCount} lots read`),
      }),
    );
    await writeFile("--out", out, (write) => write(`${JSON.stringify(taken)}\n`), { force });
    const text = countSheet(sheetGroups(taken.lots), taken.items, blind === true);
    if (sheet !== undefined) await writeFile("--sheet", sheet, (write) => write(text), { force });
    tell(`${out}: ${plural(taken.lots.length, "lot")} in stock in warehouse ${wid}.`);
    if (json) await printJson({ wid, takenAt: taken.takenAt, lots: taken.lots.length, out, sheet: sheet ?? null });
  });
}

/** Checks the files before the work whose results will be written to them. */
function assertOutputs(outputs: Readonly<Record<string, string | undefined>>, replacing: Replacing): void {
  const paths = new Map<string, string>();
  for (const [option, name] of Object.entries(outputs)) {
    if (name === undefined) continue;
    const path = resolve(outputTarget(option, name).path);
    assertNotReplaced(option, name, replacing);
    const other = paths.get(path);
    if (other !== undefined) throw new CommandError(`${other} and ${option} are the same file, ${name}.`);
    paths.set(path, option);
  }
}

interface CountPlanFlags extends PlanningFlags {
  surplus: number;
  shortage: number;
  newGroups?: true;
  double?: true;
  recount?: string;
  blind?: true;
}

function countPlanCommand(): Command {
  const command = new Command("plan")
    .description("show which receives and issues would correct the stock; sends no write")
    .argument("<snapshot>", "file of stocklot count snapshot --out")
    .argument("<sheet...>", "CSV with a header, or .ndjson: itemID, counted, and spot and serial if they were counted")
    .requiredOption("--surplus <code>", "reason code of the receives", integerOption(0))
    .requiredOption("--shortage <code>", "reason code of the issues", integerOption(0))
    .option("--double", "each sheet is a full count, and all must agree (default: each is a part)")
    .option("--recount <file>", "write a sheet of the items that have to be counted again", fileOption)
    .option("--blind", "leave the quantities out of the recount sheet")
    .option("--new-groups", "accept items, bins and serials that the snapshot does not have")
    .action(planCountOf);
  const example = "stocklot count plan before.json sheet.csv --surplus 21 --shortage 22 \\";
  return withPlanning(command, example, "  --out plan.json");
}

async function planCountOf(snapshotPath: string, paths: string[], flags: CountPlanFlags): Promise<void> {
  const { surplus, shortage, newGroups, double: isDouble = false, recount, blind, out, force } = flags;
  assertOutputs({ "--out": out, "--recount": recount }, { force });
  const files = paths.map((path) => resolve(path));
  const repeated = paths.find((_, index) => files.indexOf(files[index] ?? "") !== index);
  if (repeated !== undefined) throw new CommandError(`${repeated} is given twice: each sheet is a count of its own.`);
  if (isDouble && paths.length < 2) throw new CommandError("--double needs two sheets or more.");
  // It is checked by planCount, and so are the rows when they are read.
  const taken = castUnchecked<CountSnapshot>(parseJsonFile(snapshotPath));
  const reasonCodes = { surplus, shortage };
  let blocked = 0;
  await showPlan(paths, flags, COUNTED_ROWS, async (rows, planning, places) => {
    const counted = castUnchecked<PlanCountOptions["counted"]>(rows);
    const sheetOf = (index: number) => paths.indexOf(places[index]?.path ?? "");
    const options = { ...planning, snapshot: taken, counted, reasonCodes, newGroups };
    const { plan, lots } = await planCountOfSheets(options, { names: paths, isDouble, sheetOf });
    blocked = plan.blocked.length;
    if (recount !== undefined && blocked > 0) {
      const groups = groupsToRecount(plan.blocked, lots, taken.lots);
      const text = countSheet(groups, taken.items, blind === true);
      await writeFile("--recount", recount, (write) => write(text), { force });
    }
    return plan;
  });
  if (recount === undefined || blocked === 0) return;
  tell(`${recount}: the items to count again, as a sheet. Before people count, take a snapshot of its own:`);
  const file = { blank: "file" };
  const connection = connectionWords(flags);
  tell(`  ${commandLine("count", "snapshot", "--wid", String(taken.wid), "--out", file, ...connection)}`);
  const codes = ["--surplus", String(surplus), "--shortage", String(shortage), ...connection];
  tell(`  ${commandLine("count", "plan", file, recount, ...codes)}`);
}

const COUNTED_ROWS = {
  noun: "lots",
  shape: { itemID: z.string(), spot: z.string(), serial: z.string(), counted: z.number(), check: z.string() },
  required: ["itemID", "counted"],
  rowOf: countedRow,
} as const;

/**
 * Returns a counted row; `undefined` for a row that was not counted. An empty `spot` is the bin without a name, an
 * empty `serial` no serial.
 */
function countedRow({ description: _, uOM: __, book: ___, ...row }: Record<string, unknown>): object | undefined {
  return (row.counted ?? "") === "" ? undefined : row;
}
