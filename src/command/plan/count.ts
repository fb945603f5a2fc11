import { Command } from "commander";
import * as z from "zod";
import { uncheckedAs } from "../../client/for-add-ons.js";
import { sumOf } from "../../plan/count/group.js";
import { groupBy } from "../../plan/group-by.js";
import { type BookLot, type CountSnapshot, type PlanCountOptions, planCount, takeSnapshot } from "../../plan/index.js";
import { type ConnectionFlags, withClient, withConnection, withResponseValidation } from "../connection.js";
import { integerOption } from "../exit.js";
import { recordFormat } from "../export/record-format.js";
import { assertFolderExists, replaceFile } from "../files.js";
import { withHelp } from "../help.js";
import { type RowFlags, rowSettings, withColumns } from "../rows/columns.js";
import { type RowFields, SourceRows } from "../rows/source-rows.js";
import { plural, tell, withProgress } from "../terminal.js";
import { type PlanOutput, parseJsonFile, showPlan } from "./planned.js";

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
    .requiredOption("--out <file>", "write the snapshot there; stocklot count plan needs it")
    .option("--sheet <file>", "write a CSV for the counters, sorted by bin")
    .option("--blind", "leave the quantities out of the sheet")
    .action(snapshot);
  const example = "stocklot count snapshot --wid 3 --out before.json --sheet sheet.csv";
  return withHelp(withResponseValidation(withConnection(command)), {}, example);
}

function snapshot({ wid, out, sheet, blind, ...connection }: SnapshotFlags): Promise<void> {
  assertFolderExists("--out", out);
  if (sheet !== undefined) assertFolderExists("--sheet", sheet);
  return withClient(connection, async (client, signal) => {
    const taken = await withProgress((progress) =>
      takeSnapshot({
        client,
        wid,
        signal,
        onProgress: ({ received, totalCount }) => progress.update(`${received} of ${totalCount} lots read`),
      }),
    );
    replaceFile(out, `${JSON.stringify(taken)}\n`);
    if (sheet !== undefined) replaceFile(sheet, countSheet(taken, { isBlind: blind === true }));
    tell(`${out}: ${plural(taken.lots.length, "lot")} in stock in warehouse ${wid}.`);
  });
}

interface CountPlanFlags extends ConnectionFlags, PlanOutput, RowFlags {
  surplus: number;
  shortage: number;
  newBins?: true;
}

function countPlanCommand(): Command {
  const command = withColumns(new Command("plan"))
    .description("show which receives and issues would correct the stock; sends no write")
    .argument("<snapshot>", "file of stocklot count snapshot --out")
    .argument("<counted>", "CSV with a header, or .ndjson: itemID, counted, and spot and serial if they were counted")
    .requiredOption("--surplus <code>", "reason code of the receives", integerOption(0))
    .requiredOption("--shortage <code>", "reason code of the issues", integerOption(0))
    .option("--new-bins", "accept bins that the snapshot does not have, while others of the item were not counted")
    .option("--out <file>", "write the plan as JSON, for stocklot apply (default: print it)")
    .option("--exit-code", "exit with 4 if there is something to do")
    .action(plan);
  return withHelp(
    withResponseValidation(withConnection(command)),
    { 4: "with --exit-code: there is something to do" },
    "stocklot count plan before.json sheet.csv --surplus 21 --shortage 22 \\",
    "  --out plan.json",
  );
}

async function plan(snapshotPath: string, path: string, flags: CountPlanFlags): Promise<void> {
  const { surplus, shortage, newBins } = flags;
  const rows = new SourceRows({ path, ...rowSettings(flags) }, BOOK_FIELDS);
  // It is checked by planCount.
  const taken = uncheckedAs<CountSnapshot>(parseJsonFile(snapshotPath));
  // The rows are checked when they are read.
  const counted = uncheckedAs<PlanCountOptions["counted"]>(rows);
  await showPlan(rows, flags, "lots", (planning) =>
    planCount({ ...planning, snapshot: taken, counted, reasonCodes: { surplus, shortage }, newBins }),
  );
}

/** An empty `spot` or `serial` is the bin without a name, or no serial. What was not counted has no quantity. */
const BOOK_FIELDS: RowFields = {
  shape: { itemID: z.string(), spot: z.string(), serial: z.string(), counted: z.number() },
  required: { itemID: "the SKU", counted: "the quantity" },
  rowOf: (cells) => {
    const { counted = "" } = cells;
    if (counted === "" || counted === null) return undefined;
    return Object.fromEntries(Object.entries(cells).filter(([name]) => !SHEET_COLUMNS.only.includes(name)));
  },
};

/** The columns of a sheet, in order. `only`: those that a count does not read. */
const SHEET_COLUMNS = {
  all: ["spot", "itemID", "description", "serial", "uOM", "book", "counted"],
  only: ["description", "uOM", "book"],
};

/** A CSV for people who count: a line per bin, item and serial, sorted by bin. `counted` is for them to fill in. */
function countSheet({ lots, items }: CountSnapshot, { isBlind }: { isBlind: boolean }): string {
  const itemOf = new Map(items.map((item) => [item.shortID, item]));
  const groups = groupBy(lots, ({ shortID, spot, serial }) => JSON.stringify([shortID, spot, serial]));
  const columns = SHEET_COLUMNS.all.filter((name) => !(isBlind && name === "book"));
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
  const format = recordFormat("csv", columns, columns);
  return format.encode(records, 0) + format.end(records.length);
}

/** A-2 before A-10. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

const compareLots = (one: BookLot, other: BookLot): number =>
  byName(one.spot, other.spot) || byName(one.shortID, other.shortID) || byName(one.serial, other.serial);
