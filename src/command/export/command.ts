import { extname } from "node:path";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { openList } from "../../bulk/lists.js";
import { probeModifiedSince } from "../../bulk/probes.js";
import type { InventoryClient, ListOptions, ListParams, Page } from "../../client/index.js";
import { dateInputSchema } from "../../service/date.js";
import { type DocumentedList, LISTS } from "../../service/lists.js";
import { fieldOf } from "../../shared/unknown.js";
import { type ConnectionFlags, withClient, withConnection } from "../connection.js";
import { CommandError, integerOption, namesOption } from "../exit.js";
import { fileOption, writeFile } from "../files.js";
import { withHelp } from "../help.js";
import { withCsvForm } from "../read-rows/columns.js";
import { ROW_FORMATS, type RowFormat, rowFormatOf } from "../read-rows/file-rows.js";
import { printJson, tell, withProgress, writeOutput } from "../terminal.js";
import { type CsvOptions, type RecordFormat, recordFormat } from "./record-format.js";

interface ExportFlags extends ConnectionFlags, CsvOptions {
  wid?: number;
  since?: string;
  format?: RowFormat;
  output?: string;
  columns?: string[];
  json?: true;
}

type Pages = AsyncIterable<Page<object>>;

/** Adds a column to the records of pages. */
type AddColumn = (pages: Pages, client: InventoryClient, signal: AbortSignal) => Pages;

/**
 * What can be exported. `added` has the columns that the service does not send. CSV begins with them by default. NDJSON has
 * them only if `--columns` names them.
 */
export const EXPORTS = {
  items: { list: LISTS.items, added: {} },
  lots: { list: LISTS.lots, added: {} },
  "stock-levels": { list: LISTS.stockLevels, added: { shortID: addSku } },
} satisfies Readonly<Record<string, { list: DocumentedList; added: Readonly<Record<string, AddColumn>> }>>;

export function exportCommand(): Command {
  const described = new Command("export")
    .description("write items (discontinued ones too), lots or stock levels to a file or to standard output")
    .addArgument(new Argument("<resource>", "what to export").choices(Object.keys(EXPORTS)))
    .option("--wid <n>", "only this warehouse (lots and stock levels)", integerOption(0))
    .option("--since <date>", "only records modified since this date or datetime (ISO 8601)", dateOption)
    .addOption(
      new Option("--format <format>", "format (default: by the name of the file, otherwise csv)").choices(ROW_FORMATS),
    )
    .option(
      "-o, --output <file>",
      "file to write or replace; it appears when it is complete (default, and -: standard output)",
      fileOption,
    )
    .option(
      "--columns <names>",
      `fields to write, in this order, for instance recNo,shortID,units (default: in csv every documented field, and ${namesOfAdded()}; otherwise every field)`,
      namesOption,
    )
    .option("--excel", "CSV for a spreadsheet: with a byte order mark, SKUs as text, and nothing that it computes");
  const command = withCsvForm(described)
    .option("--json", "print records as NDJSON; with --output, print what was written as JSON")
    .action(exportRecords);
  const example = "stocklot export lots --wid 3 --output lots.csv";
  return withHelp(withConnection(command), { 1: "the export failed" }, example);
}

/** Returns the added columns for the help, such as "shortID of stock-levels". */
const namesOfAdded = () =>
  Object.entries(EXPORTS)
    .flatMap(([name, { added }]) => Object.keys(added).map((column) => `${column} of ${name}`))
    .join(", ");

async function exportRecords(name: keyof typeof EXPORTS, flags: ExportFlags): Promise<void> {
  const { wid, since, columns, json } = flags;
  const output = flags.output === "-" ? undefined : flags.output;
  if (wid !== undefined && name === "items") throw new CommandError("--wid does not apply to items.");
  const format = flags.format ?? (json && output === undefined ? "ndjson" : formatOf(output));
  if (json && output === undefined && format === "csv")
    throw new CommandError("--json: CSV on standard output is no JSON. Leave out --format, or add --output.");
  const { list } = EXPORTS[name];
  const addedColumns = new Map<string, AddColumn>(Object.entries(EXPORTS[name].added));
  const added = [...addedColumns].filter(([column]) => columns?.includes(column) ?? format === "csv");
  const csvColumns = [...added.map(([column]) => column), ...Object.keys(list.record().shape)];
  const { excel, delimiter, decimal } = flags;
  const [option] = Object.entries({ excel, delimiter, decimal }).flatMap(([one, value]) =>
    value === undefined ? [] : [one],
  );
  if (format !== "csv" && option !== undefined) throw new CommandError(`--${option} needs --format csv.`);
  const encoding = recordFormat(format, columns, csvColumns, { excel, delimiter, decimal });
  await withClient(flags, async (client, signal) => {
    const open = (params: ListParams, options: ListOptions) =>
      openList(client, list.name, { wid, includeDiscontinued: true, ...params }, options);
    const write = async (append: (text: string) => Promise<void>) => {
      const readPage = (params: ListParams) => open(params, { signal }).page();
      const support = since && (await probeModifiedSince(readPage));
      const isAlwaysEmpty = support === "always-empty" && (await readPage({ pageSize: 1 })).value.length > 0;
      // The export contains more records than requested, but all requested records.
      if (support === "ignored" || isAlwaysEmpty)
        tell(`warning: the service ignores --since for ${name}; every record is exported.`);
      const modifiedSince = isAlwaysEmpty ? undefined : since;
      const listed: Pages = open({ modifiedSince }, { gapless: true, signal }).pages();
      const pages = added.reduce((rest, [, add]) => add(rest, client, signal), listed);
      return writePages(pages, encoding, { columns, added: [...addedColumns.keys()] }, append);
    };
    const records = output === undefined ? await write(writeOutput) : await writeFile("--output", output, write);
    tell(`${records} ${name} exported${output === undefined ? "" : ` to ${output}`}.`);
    if (json && output !== undefined) await printJson({ resource: name, records, format, output });
  });
}

async function* addSku(levels: Pages, client: InventoryClient, signal: AbortSignal): AsyncGenerator<Page<object>> {
  // Reads the fields without their types, because responses may not be validated.
  const skus = new Map<unknown, unknown>();
  const items = client.items.list({ includeDiscontinued: true }, { gapless: true, signal });
  for await (const item of items) skus.set(fieldOf(item, "partNo"), fieldOf(item, "shortID"));
  for await (const page of levels) {
    const value = page.value.map((level) => ({ shortID: skus.get(fieldOf(level, "partNo")) ?? "", ...level }));
    yield { ...page, value };
  }
}

/** Returns the number of records. */
async function writePages(
  pages: Pages,
  { header, encode }: RecordFormat,
  { columns = [], added }: { columns: readonly string[] | undefined; added: readonly string[] },
  append: (text: string) => Promise<void>,
): Promise<number> {
  let records = 0;
  let isBegun = false;
  await withProgress(async (progress) => {
    for await (const { value, totalCount } of pages) {
      if (records === 0 && value[0])
        assertColumnsExist(columns, { ...Object.fromEntries(added.map((column) => [column, ""])), ...value[0] });
      await append((isBegun ? "" : header) + encode(value));
      isBegun = true;
      records += value.length;
      progress(`${records} of ${totalCount}`);
    }
  });
  return records;
}

/** A misspelt column would be empty in every record. */
function assertColumnsExist(columns: readonly string[], record: object): void {
  const missing = columns.filter((column) => !(column in record));
  if (missing.length === 0) return;
  const known = Object.keys(record).join(", ");
  throw new CommandError(`--columns: records have no ${missing.join(", ")}. They have ${known}.`);
}

/** Returns the format for the extension of the file; CSV without a file. */
function formatOf(output = ""): RowFormat {
  const extension = extname(output);
  if (/^(\.(csv|ndjson|jsonl))?$/i.test(extension)) return rowFormatOf(output);
  throw new CommandError(
    `--output: ${extension} is not the extension of a format. The name must end with .csv or .ndjson; for any other name, set --format.`,
  );
}

function dateOption(text: string): string {
  const isDate = (date: string) => dateInputSchema().safeParse(date).success;
  if (isDate(text)) return text;
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  throw new InvalidArgumentError(
    day && !isDate(day) ? "The date does not exist." : "It must be an ISO 8601 date such as 2026-01-31, or a datetime.",
  );
}
