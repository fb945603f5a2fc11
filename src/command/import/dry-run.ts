import { Big } from "big.js";
import { BulkRequests, type ReadWith } from "../../bulk/requests.js";
import type { InventoryClient } from "../../client/index.js";
import { countListedItems, readItems } from "../../plan/for-rooms.js";
import type { Item } from "../../service/item.js";
import { comparableSku } from "../../service/key.js";
import { fieldOf } from "../../shared/unknown.js";
import { skuOfInput } from "../../writes/operation.js";
import { EXIT } from "../exit.js";
import { MAX_LISTED } from "../read-rows/columns.js";
import { plural, print, printable, printJson, table, wrapped } from "../terminal.js";
import type { ImportedLine, ImportSettings } from "./lines.js";

const SHOWN_LINES = 10;

/** Shows what an import would book. Sends no write, and stores nothing. `client`: undefined if no service is configured. */
export async function showDryRun(
  lines: readonly ImportedLine[],
  settings: ImportSettings,
  { client, signal, json }: { client: InventoryClient | undefined; signal: AbortSignal; json: true | undefined },
): Promise<void> {
  const items = client && (await readItemsOf(lines, new BulkRequests({ client, signal })));
  const problems = items ? skuProblems(lines, settings, items) : [];
  const sums = unitsByItem(lines, items);
  if (problems.length > 0) process.exitCode = EXIT.failure;
  const first = lines.slice(0, SHOWN_LINES).map(({ line, entry: { key, input } }) => ({ line, key, ...input }));
  const skus = new Set(lines.map((line) => comparableSku(skuOfInput(line.entry.input)))).size;
  if (json) {
    const found = { lines: lines.length, invalid: 0, problems, skus, areSkusLookedUp: items !== undefined };
    return printJson({ ...found, units: Object.fromEntries(sums), first });
  }
  await print(`The first ${plural(first.length, "line")}, as ${settings.operation}:`);
  const columns = [...new Set(first.flatMap((line) => Object.keys(line)))];
  const cell = (value: unknown) =>
    typeof value === "number" || typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  await print(
    table(
      columns,
      first.map((line) => columns.map((column) => cell(fieldOf(line, column)))),
    ),
  );
  const units = [...sums].map(([unit, sum]) => `${sum} ${unit}`.trim()).join(", ");
  const total = [plural(lines.length, "line"), plural(skus, "SKU"), ...(units === "" ? [] : [`units: ${units}`])];
  await print(`\n${total.join(", ")}. Nothing was stored or sent.`);
  if (!items) await print("The SKUs were not looked up: no service is configured.");
  for (const {
    line,
    problems: [problem = ""],
  } of problems.slice(0, MAX_LISTED))
    await print(wrapped(`line ${line}: ${problem}`, 2));
  if (problems.length > MAX_LISTED) await print(`and ${problems.length - MAX_LISTED} more`);
  if (items && problems.length === 0)
    await print(settings.operation === "create" ? "No SKU exists yet." : "All SKUs exist.");
}

/** The items of the lines by comparable SKU. */
async function readItemsOf(lines: readonly ImportedLine[], reader: ReadWith): Promise<Map<string, Item>> {
  const skus = new Map(
    lines.map((line) => [comparableSku(skuOfInput(line.entry.input)), skuOfInput(line.entry.input)]),
  );
  const items = await readItems(reader, [...skus.values()], await countListedItems(reader), comparableSku);
  return new Map([...items].map(([sku, item]) => [comparableSku(sku), item]));
}

function skuProblems(lines: readonly ImportedLine[], { operation }: ImportSettings, items: ReadonlyMap<string, Item>) {
  return lines.flatMap((imported) => {
    const sku = skuOfInput(imported.entry.input);
    const item = items.get(comparableSku(sku));
    const name = printable(JSON.stringify(sku));
    const problem =
      operation === "create"
        ? item && `the item ${name} exists already`
        : !item
          ? `the item ${name} does not exist`
          : item.discontinued && operation !== "discontinue"
            ? `the item ${name} is discontinued`
            : undefined;
    return problem === undefined ? [] : [{ line: imported.line, problems: [problem] }];
  });
}

/** The sum of units by unit of measure; empty for operations without units. Units of measure are known with the items. */
function unitsByItem(
  lines: readonly ImportedLine[],
  items: ReadonlyMap<string, Item> | undefined,
): Map<string, number> {
  const sums = new Map<string, Big>();
  for (const imported of lines) {
    const units = fieldOf(imported.entry.input, "units");
    const { operation } = imported.entry;
    if (typeof units !== "number" || operation === "create" || operation === "update") continue;
    const unit = items?.get(comparableSku(skuOfInput(imported.entry.input)))?.uOM ?? "";
    sums.set(unit, (sums.get(unit) ?? new Big(0)).plus(units));
  }
  return new Map([...sums].map(([unit, sum]) => [unit, sum.toNumber()]));
}
