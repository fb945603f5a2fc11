import { Command } from "commander";
import * as z from "zod";
import { uncheckedAs } from "../../client/for-add-ons.js";
import { sumOf } from "../../plan/count/group.js";
import { groupBy } from "../../plan/group-by.js";
import { type BookLot, type CountSnapshot, type PlanCountOptions, planCount, takeSnapshot } from "../../plan/index.js";
import { type ConnectionFlags, withClient, withConnection } from "../connection.js";
import { integerOption } from "../exit.js";
import { csvFormat } from "../export/record-format.js";
import { fileOption, outputTarget, writeFile } from "../files.js";
import { withHelp } from "../help.js";
import { plural, tell, withProgress } from "../terminal.js";
import { type PlanningFlags, parseJsonFile, showPlan, withPlanning } from "./planned.js";

/** `stocklot count snapshot` and `stocklot count plan`. */
export function countCommand(): Command {
  return new Command("count")
    .description("compare counted quantities with the lots of a warehouse")
    .addCommand(snapshotCommand())
    .addCommand(countPlanCommand());
}

interface SnapshotFlags extends ConnectionFlags {
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
    .action(snapshot);
  const example = "stocklot count snapshot --wid 3 --out before.json --sheet sheet.csv";
  return withHelp(withConnection(command), {}, example);
}

function snapshot({ wid, out, sheet, blind, ...connection }: SnapshotFlags): Promise<void> {
  outputTarget("--out", out);
  if (sheet !== undefined) outputTarget("--sheet", sheet);
  return withClient(connection, async (client, signal) => {
    const taken = await withProgress((progress) =>
      takeSnapshot({
        client,
        wid,
        signal,
        onProgress: ({ received, totalCount }) => progress(`${received} of ${totalCount} lots read`),
      }),
    );
    await writeFile("--out", out, (write) => write(`${JSON.stringify(taken)}\n`));
    if (sheet !== undefined) await writeFile("--sheet", sheet, (write) => write(countSheet(taken, blind === true)));
    tell(`${out}: ${plural(taken.lots.length, "lot")} in stock in warehouse ${wid}.`);
  });
}

interface CountPlanFlags extends PlanningFlags {
  surplus: number;
  shortage: number;
  newGroups?: true;
}

function countPlanCommand(): Command {
  const command = new Command("plan")
    .description("show which receives and issues would correct the stock; sends no write")
    .argument("<snapshot>", "file of stocklot count snapshot --out")
    .argument("<counted>", "CSV with a header, or .ndjson: itemID, counted, and spot and serial if they were counted")
    .requiredOption("--surplus <code>", "reason code of the receives", integerOption(0))
    .requiredOption("--shortage <code>", "reason code of the issues", integerOption(0))
    .option("--new-groups", "accept items, bins and serials that the snapshot does not have")
    .action(plan);
  const example = "stocklot count plan before.json sheet.csv --surplus 21 --shortage 22 \\";
  return withPlanning(command, example, "  --out plan.json");
}

async function plan(snapshotPath: string, path: string, flags: CountPlanFlags): Promise<void> {
  const { surplus, shortage, newGroups } = flags;
  // It is checked by planCount, and so are the rows when they are read.
  const taken = uncheckedAs<CountSnapshot>(parseJsonFile(snapshotPath));
  await showPlan(path, flags, COUNTED_ROWS, (rows, planning) => {
    const counted = uncheckedAs<PlanCountOptions["counted"]>(rows);
    return planCount({ ...planning, snapshot: taken, counted, reasonCodes: { surplus, shortage }, newGroups });
  });
}

const COUNTED_ROWS = {
  noun: "lots",
  shape: { itemID: z.string(), spot: z.string(), serial: z.string(), counted: z.number() },
  required: ["itemID", "counted"],
  rowOf: countedRow,
} as const;

/** An empty `spot` or `serial` is the bin without a name, or no serial. What was not counted has no quantity. */
function countedRow({ description: _, uOM: __, book: ___, ...row }: Record<string, unknown>): object | undefined {
  return (row.counted ?? "") === "" ? undefined : row;
}

/** A CSV for people who count: a line per bin, item and serial, sorted by bin. `counted` is for them to fill in. */
function countSheet({ lots, items }: CountSnapshot, isBlind: boolean): string {
  const itemOf = new Map(items.map((item) => [item.shortID, item]));
  const groups = groupBy(lots, ({ shortID, spot, serial }) => JSON.stringify([shortID, spot, serial]));
  const records = [...groups.values()]
    .flatMap((group) => group.slice(0, 1).map((lot) => ({ ...lot, book: sumOf(group) })))
    .sort(compareLots)
    .map(({ spot, shortID, serial, book }) => ({
      spot,
      itemID: shortID,
      description: itemOf.get(shortID)?.description ?? "",
      serial,
      uOM: itemOf.get(shortID)?.uOM ?? "",
      book: book.toNumber(),
      counted: "",
    }));
  const { header, encode } = csvFormat([
    ...["spot", "itemID", "description", "serial", "uOM"],
    ...(isBlind ? ["counted"] : ["book", "counted"]),
  ]);
  return header + encode(records);
}

/** A-2 before A-10. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

const compareLots = (one: BookLot, other: BookLot): number =>
  byName(one.spot, other.spot) || byName(one.shortID, other.shortID) || byName(one.serial, other.serial);
