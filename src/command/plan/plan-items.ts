import { Command, Option } from "commander";
import { type PlanItemsOptions, planItems } from "../../plan/index.js";
import type { Item } from "../../service/item.js";
import { WRITES } from "../../service/operations.js";
import { castUnchecked, fieldOf } from "../../shared/unknown.js";
import { CommandError, namesOption } from "../exit.js";
import { withHelp } from "../help.js";
import { setOption } from "../read-rows/columns.js";
import type { RowFormat } from "../read-rows/file-rows.js";
import { printJson, writeOutput } from "../terminal.js";
import { planMarkdown } from "./markdown.js";
import { openPlan, type PlanningFlags, parseJsonFile, printPlanText, showPlan, withPlanning } from "./planned.js";

interface PlanFlags extends PlanningFlags {
  fields?: string[];
  absent?: "keep" | "discontinue";
  owns?: ReadonlyMap<string, string>;
  maxDiscontinuedShare?: number;
  withStock?: true;
  ignoreStoredForms?: string;
}

export function planCommand(): Command {
  return new Command("plan")
    .description("compare the catalog with a file, and show plans")
    .addCommand(planItemsCommand())
    .addCommand(
      withHelp(
        new Command("show")
          .description("show a plan that --out has written; needs no service")
          .argument("<plan>", "file of stocklot plan items or stocklot count plan, with --out")
          .option("--markdown", "print Markdown for a pull request, which shows every value exactly")
          .option("--json", "print JSON")
          .action(show),
        {},
        "stocklot plan show plan.json",
      ),
    );
}

function show(path: string, { markdown, json }: { markdown?: true; json?: true }): Promise<void> {
  const plan = openPlan(path);
  if (json) return printJson(plan, 1);
  return markdown ? writeOutput(`${planMarkdown(plan)}\n`) : printPlanText(plan.toText());
}

function planItemsCommand(): Command {
  const command = new Command("items")
    .description("show which writes would make the catalog as a file says; sends no write")
    .argument("<file>", "CSV with a header, or .ndjson: one row per item, with its SKU (shortID)")
    .option("--set <field=value>", "a value for every row; may be repeated", setOption)
    .option("--fields <names>", "only compare these fields, separated by commas", namesOption)
    .addOption(
      new Option("--absent <what>", "what happens to active items that are not in the file (default: keep)").choices([
        "keep",
        "discontinue",
      ]),
    )
    .option("--owns <field=value>", "items that may be discontinued, such as category=12; may be repeated", setOption)
    .option(
      "--max-discontinued-share <share>",
      "refuse to discontinue a larger share of these items (default: 0.05)",
      Number,
    )
    .option("--with-stock", "also discontinue items with stock")
    .option(
      "--ignore-stored-forms <file>",
      "report of stocklot apply --json: values that it lists as stored differently count as equal",
    )
    .action(planItemsOf);
  return withPlanning(command, "stocklot plan items items.csv --out plan.json");
}

async function planItemsOf(path: string, flags: PlanFlags): Promise<void> {
  const { fields, absent, owns, maxDiscontinuedShare, withStock, ignoreStoredForms } = flags;
  if (absent === "discontinue" && !owns)
    throw new CommandError("--absent discontinue needs --owns, such as --owns category=12.");
  const report = ignoreStoredForms === undefined ? [] : parseJsonFile(ignoreStoredForms);
  const storedForms = Array.isArray(report) ? report : (fieldOf(report, "storedDifferently") ?? []);
  const options = {
    ...{ fields, absent, maxDiscontinuedShare, withStock },
    owns: owns && ((item: Item) => [...owns].every(([name, value]) => String(fieldOf(item, name)) === value)),
    ignoreStoredForms: castUnchecked<PlanItemsOptions["ignoreStoredForms"]>(storedForms),
  };
  const itemRows = { noun: "items", shape: WRITES.create.input().shape, required: ["shortID"], rowOf } as const;
  await showPlan([path], flags, itemRows, (rows, planning) =>
    // The rows are checked when they are read.
    planItems({ ...options, ...planning, desired: castUnchecked<PlanItemsOptions["desired"]>(rows) }),
  );
}

/** Returns a row of desired fields. In a CSV file, an empty cell is a missing field. */
const rowOf = (fields: Record<string, unknown>, format: RowFormat): object =>
  format === "csv" ? Object.fromEntries(Object.entries(fields).filter(([, cell]) => cell !== "")) : fields;
