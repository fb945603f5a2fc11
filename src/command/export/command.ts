import { extname } from "node:path";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import type { InventoryClient, ListOptions } from "../../client/index.js";
import { dateInputSchema } from "../../service/date.js";
import { LISTS } from "../../service/lists.js";
import { BadRequestError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { type ConnectionFlags, withClient, withConnection, withResponseValidation } from "../connection.js";
import { CommandError, integerOption, namesOption } from "../exit.js";
import { withHelp } from "../help.js";
import { type ListParams, modifiedSinceProbe, openList, type RecordList } from "../list-probes.js";
import { tell, withProgress, writeOutput } from "../terminal.js";
import { OutputFile } from "./output-file.js";
import { FORMATS, type Format, type RecordFormat, recordFormat } from "./record-format.js";

interface ExportFlags extends ConnectionFlags {
  wid?: number;
  since?: string;
  format?: Format;
  output?: string;
  columns?: string[];
}

/** Stock levels with the SKU of their item, which the service does not send. */
function withSkus(client: InventoryClient, list: RecordList, signal: AbortSignal): Pick<RecordList, "pages"> {
  return {
    async *pages() {
      // However strictly responses are validated.
      const skus = new Map<unknown, unknown>();
      const items = client.items.list({ includeDiscontinued: true }, { gapless: true, signal });
      for await (const item of items) skus.set(fieldOf(item, "partNo"), fieldOf(item, "shortID"));
      for await (const page of list.pages()) {
        const value = page.value.map((level) => ({ shortID: skus.get(fieldOf(level, "partNo")) ?? "", ...level }));
        yield { ...page, value };
      }
    },
  };
}

const RESOURCES = { items: LISTS.items, lots: LISTS.lots, "stock-levels": LISTS.stockLevels };
type Resource = keyof typeof RESOURCES;

/** The default columns of a CSV file. */
function columnsOf(name: Resource): string[] {
  const fields = Object.keys(RESOURCES[name].record().shape);
  return name === "stock-levels" ? ["shortID", ...fields] : fields;
}

const listOf = (client: InventoryClient, name: Resource, params: ListParams, options: ListOptions): RecordList =>
  openList(client, RESOURCES[name].name, params, options, { includeDiscontinued: true });

export function exportCommand(): Command {
  const command = new Command("export")
    .description("write items (discontinued ones too), lots or stock levels to a file or to standard output")
    .addArgument(new Argument("<resource>", "what to export").choices(Object.keys(RESOURCES)))
    .option("--wid <n>", "only this warehouse (lots and stock levels)", integerOption(0))
    .option("--since <date>", "only records modified since this date or datetime (ISO 8601)", dateOption)
    .addOption(
      new Option("--format <format>", "format (default: from the name of the file, otherwise csv)").choices(FORMATS),
    )
    .option(
      "-o, --output <file>",
      "file to write or replace; it appears when it is complete (default, and -: standard output)",
      fileOption,
    )
    .option(
      "--columns <names>",
      "fields to write, in this order, for instance recNo,shortID,units (default: every documented field in csv, every field otherwise)",
      namesOption,
    )
    .action(exportRecords);
  const example = "stocklot export lots --wid 3 --output lots.csv";
  return withHelp(withResponseValidation(withConnection(command)), { 1: "the export failed" }, example);
}

async function exportRecords(name: Resource, flags: ExportFlags): Promise<void> {
  const { wid, since, columns } = flags;
  const output = flags.output === "-" ? undefined : flags.output;
  if (wid !== undefined && name === "items") throw new CommandError("--wid does not apply to items.");
  const format = flags.format ?? formatOf(output);
  const params = { wid, modifiedSince: since };
  const encoding = recordFormat(format, columns, columnsOf(name));
  const exportWith = async (client: InventoryClient, signal: AbortSignal) => {
    const file = output === undefined ? undefined : await OutputFile.open(output);
    try {
      if (since !== undefined) await warnIfSinceIsIgnored(name, client, wid, signal);
      const list = listOf(client, name, params, { gapless: true, signal });
      // JSON and NDJSON contain what the service sends, which is no SKU.
      const needsSku = name === "stock-levels" && (columns?.includes("shortID") ?? format === "csv");
      const pages = needsSku ? withSkus(client, list, signal) : list;
      const records = await writePages(pages, encoding, columns, file);
      await file?.complete();
      tell(`${records} ${name} exported${output === undefined ? "" : ` to ${output}`}.`);
    } catch (error) {
      await file?.discard();
      throw error;
    }
  };
  await withClient(flags, exportWith);
}

/** If the service ignores modifiedSince, the export contains every record: no more than asked for, but not only changes. */
async function warnIfSinceIsIgnored(
  name: Resource,
  client: InventoryClient,
  wid: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const list = listOf(client, name, { wid, ...modifiedSinceProbe.params() }, { signal });
  const page = await list.page().catch((error: unknown) => {
    // It may only refuse the date of the probe.
    if (error instanceof BadRequestError) return undefined;
    throw error;
  });
  if (page && !modifiedSinceProbe.isHonoured(page))
    tell(`warning: the service ignores --since for ${name}; every record is exported.`);
}

async function writePages(
  list: Pick<RecordList, "pages">,
  format: RecordFormat,
  columns: readonly string[] | undefined,
  file: OutputFile | undefined,
): Promise<number> {
  const write = file ? (text: string) => file.append(text) : writeOutput;
  let records = 0;
  return withProgress(async (progress) => {
    for await (const { value, totalCount } of list.pages()) {
      if (records === 0 && value[0]) assertColumnsExist(columns, value[0]);
      await write(format.encode(value, records));
      records += value.length;
      progress.update(`${records} of ${totalCount}`);
    }
    await write(format.end(records));
    return records;
  });
}

/** A misspelt column would be empty in every record. */
function assertColumnsExist(columns: readonly string[] = [], record: object): void {
  const missing = columns.filter((column) => !(column in record));
  if (missing.length === 0) return;
  const known = Object.keys(record).join(", ");
  throw new CommandError(`--columns: records have no ${missing.join(", ")}. They have ${known}.`);
}

/** The format that the name of the file says; CSV if it says none. */
function formatOf(output = ""): Format {
  const extension = extname(output).slice(1).toLowerCase();
  const format = extension === "" ? "csv" : FORMATS.find((known) => known === extension);
  if (format !== undefined) return format;
  const known = FORMATS.map((name) => `.${name}`).join(", ");
  throw new CommandError(
    `--output: .${extension} is not the extension of a format. The name must end with ${known}; for any other name, set --format.`,
  );
}

function dateOption(text: string): string {
  if (isDate(text)) return text;
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  throw new InvalidArgumentError(
    day && !isDate(day) ? "The date does not exist." : "It must be an ISO 8601 date such as 2026-01-31, or a datetime.",
  );
}

/** Whether the parameter modifiedSince can have this value. */
const isDate = (text: string) => dateInputSchema().safeParse(text).success;

function fileOption(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It must be the name of a file.");
}
