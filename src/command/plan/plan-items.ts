import { Command, InvalidArgumentError, Option } from "commander";
import { uncheckedAs } from "../../client/for-add-ons.js";
import { type PlanItemsOptions, planItems } from "../../plan/index.js";
import type { Item } from "../../service/item.js";
import { WRITES } from "../../service/operations.js";
import { fieldOf } from "../../shared/unknown.js";
import { type ConnectionFlags, withConnection } from "../connection.js";
import { CommandError, namesOption } from "../exit.js";
import { fileOption } from "../files.js";
import { withHelp } from "../help.js";
import { type RowFlags, setOption, withColumns } from "../rows/columns.js";
import type { RowFormat } from "../rows/file-rows.js";
import { openPlan, type PlanOutput, parseJsonFile, printPlanText, showPlan, sourceRows } from "./planned.js";

interface PlanFlags extends ConnectionFlags, PlanOutput, RowFlags {
  fields?: string[];
  absent?: "keep" | "discontinue";
  owns?: ReadonlyMap<string, string>;
  maxDiscontinuedShare?: number;
  withStock?: true;
  ignoreStoredForms?: string;
}

/** `stocklot plan items` and `stocklot plan show`. */
export function planCommand(): Command {
  return new Command("plan")
    .description("compare the catalog with a file, and show plans")
    .addCommand(planItemsCommand())
    .addCommand(
      withHelp(
        new Command("show")
          .description("show a plan that --out has written; needs no service")
          .argument("<plan>", "file of stocklot plan items or stocklot count plan, with --out")
          .action((path: string) => printPlanText(openPlan(path).toText())),
        {},
        "stocklot plan show plan.json",
      ),
    );
}

function planItemsCommand(): Command {
  const command = withColumns(new Command("items"))
    .description("show which writes would make the catalog as a file says; sends no write")
    .argument("<file>", "CSV with a header, or .ndjson: one row per item, with its SKU (shortID)")
    .option("--out <file>", "write the plan as JSON, for stocklot apply (default: print it)", fileOption)
    .option("--set <field=value>", "a value for every row; may be repeated", setOption)
    .option("--fields <names>", "only compare these fields, separated by commas", namesOption)
    .addOption(
      new Option("--absent <what>", "what to do with active items that are not in the file (default: keep)").choices([
        "keep",
        "discontinue",
      ]),
    )
    .option("--owns <field=value>", "items that may be discontinued, such as category=12; may be repeated", setOption)
    .option("--max-discontinued-share <share>", "refuse to discontinue more than this (default: 0.05)", shareOption)
    .option("--with-stock", "also discontinue items with stock")
    .option(
      "--ignore-stored-forms <file>",
      "report of stocklot apply --json: values that the service stores differently",
    )
    .option("--exit-code", "exit with 4 if there is something to do")
    .action(plan);
  return withHelp(
    withConnection(command),
    { 4: "with --exit-code: there is something to do" },
    "stocklot plan items items.csv --out plan.json",
  );
}

async function plan(path: string, flags: PlanFlags): Promise<void> {
  const rows = sourceRows(
    path,
    flags,
    { shape: WRITES.create.input().shape, required: ["shortID"] },
    withoutEmptyCells,
  );
  const options = planOptions(flags);
  // The rows are checked when they are read.
  const desired = uncheckedAs<PlanItemsOptions["desired"]>(rows.rows);
  await showPlan(rows, flags, "items", (planning) => planItems({ ...options, ...planning, desired }));
}

/** In a CSV file, an empty cell is a missing field. */
const withoutEmptyCells = (fields: Record<string, unknown>, format: RowFormat): object =>
  format === "csv" ? Object.fromEntries(Object.entries(fields).filter(([, cell]) => cell !== "")) : fields;

function planOptions(flags: PlanFlags): Omit<PlanItemsOptions, "client" | "desired"> {
  const { fields, absent, owns, maxDiscontinuedShare, withStock, ignoreStoredForms } = flags;
  if (absent === "discontinue" && !owns) {
    throw new CommandError("--absent discontinue needs --owns, such as --owns category=12.");
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

function shareOption(text: string): number {
  const share = Number(text);
  if (text.trim() !== "" && share >= 0 && share <= 1) return share;
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}
