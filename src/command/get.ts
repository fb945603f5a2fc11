import { Command } from "commander";
import type { Item } from "../service/item.js";
import { isInStock, type Lot } from "../service/lot.js";
import type { StockLevel } from "../service/stock-level.js";
import { isNoSuchItem } from "../shared/errors/api-errors.js";
import { undefinedIf } from "../shared/unknown.js";
import { type ConnectionFlags, withClient, withConnection } from "./connection.js";
import { CommandError, EXIT, integerOption } from "./exit.js";
import { withHelp } from "./help.js";
import { painter, plural, print, printable, printJson, table } from "./terminal.js";

interface GetFlags extends ConnectionFlags {
  wid?: number;
  all?: true;
  json?: true;
}

interface FoundStock {
  item: Item;
  stockLevel: StockLevel | null;
  lots: Lot[];
  /** Lots that are not in stock, and left out. */
  hidden: number;
}

export function getCommand(): Command {
  const command = new Command("get")
    .description("show items, their stock levels and their lots, in a few requests")
    .argument("<sku...>", "SKUs (shortID) of the items")
    .option("--wid <n>", "only this warehouse", integerOption(0))
    .option("--all", "also lots that are shipped, inactive or empty")
    .option("--json", "print item, stockLevel and lots as JSON; an array of these for several SKUs")
    .action(showItems);
  return withHelp(
    withConnection(command),
    { 1: "an item does not exist, or a request failed" },
    "stocklot get BOLT-M8 NUT-M8 --wid 3",
  );
}

function showItems(shortIDs: string[], flags: GetFlags): Promise<void> {
  const { wid, all, json } = flags;
  return withClient(flags, async (client, signal) => {
    const items = new Map<string, Item>();
    const missing: string[] = [];
    for (const shortID of new Set(shortIDs)) {
      const item = await client.items.get(shortID, { signal }).catch(undefinedIf(isNoSuchItem));
      if (item) items.set(shortID, item);
      else missing.push(shortID);
    }
    const levels = await client.inventory.getStockLevels([...items.keys()], { wid }, { signal });
    const found: FoundStock[] = [];
    for (const [shortID, item] of items) {
      const lots = await client.inventory.getLots(shortID, { wid }, { signal });
      const shown = all ? lots : lots.filter(isInStock);
      found.push({ item, stockLevel: levels.get(shortID) ?? null, lots: shown, hidden: lots.length - shown.length });
    }
    if (json && found.length > 0) {
      const stocks = found.map(({ hidden: _, ...stock }) => stock);
      await printJson(shortIDs.length > 1 ? stocks : stocks[0], 2);
    } else if (found.length > 0) await print(found.map((stock) => describeStock(stock, wid)).join("\n\n"));
    if (missing.length === 0) return;
    const names = missing.map(printable);
    const what =
      names.length === 1 ? `404 Item ${names[0]} was not found` : `these items were not found: ${names.join(", ")}`;
    throw new CommandError(`GET /Item: ${what}.`, EXIT.failure);
  });
}

const QUANTITY_NAMES = ["available", "inStock", "onOrder", "onHold", "committed", "packed", "aSN"] as const;

function describeStock({ item, stockLevel, lots, hidden }: FoundStock, wid: number | undefined): string {
  const bold = (text: string) => painter(process.stdout)("bold", text);
  const { partNo, shortID, description, category, uOM, discontinued } = item;
  const where = wid === undefined ? "all warehouses" : `warehouse ${wid}`;
  const quantities = stockLevel && table(QUANTITY_NAMES, [QUANTITY_NAMES.map((name) => stockLevel[name])]);
  return [
    `${bold(printable(shortID))}  ${printable(description)}`,
    `partNo ${partNo}, category ${category}, unit ${printable(uOM)}${discontinued ? ", discontinued" : ""}`,
    "",
    bold(`Stock in ${where}`),
    quantities ?? "not listed",
    "",
    bold(plural(lots.length, "lot")),
    ...(lots.length > 0 ? [table(LOT_COLUMNS, lots.map(lotCells))] : []),
    ...(hidden > 0 ? [`${plural(hidden, "lot")} not in stock: --all shows them, too.`] : []),
  ].join("\n");
}

const LOT_COLUMNS = ["recNo", "wID", "spot", "units", "received", "serial", "state"];
const lotCells = ({ recNo, wID, spot, units, received, serial, hold, active, shipped }: Lot) => [
  recNo,
  wID,
  spot,
  units,
  String(received).slice(0, 10),
  serial,
  [hold && "on hold", !active && "inactive", shipped && "shipped"].filter(Boolean).join(", "),
];
