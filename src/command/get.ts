import { Command } from "commander";
import type { Item } from "../service/item.js";
import type { Lot } from "../service/lot.js";
import type { StockLevel } from "../service/stock-level.js";
import { type ConnectionFlags, withClient, withConnection } from "./connection.js";
import { integerOption } from "./exit.js";
import { withHelp } from "./help.js";
import { painter, plural, print, printable, printJson, table } from "./terminal.js";

interface GetFlags extends ConnectionFlags {
  wid?: number;
  json?: true;
}

interface FoundStock {
  item: Item;
  stockLevel: StockLevel | null;
  lots: Lot[];
}

export function getCommand(): Command {
  const command = new Command("get")
    .description("show items, their stock levels and their lots, in a few requests")
    .argument("<sku...>", "SKUs (shortID) of the items")
    .option("--wid <n>", "only this warehouse", integerOption(0))
    .option("--json", "print item, stockLevel and lots as JSON; an array of these for several SKUs")
    .action(showItems);
  return withHelp(
    withConnection(command),
    { 1: "an item does not exist, or a request failed" },
    "stocklot get BOLT-M8 NUT-M8 --wid 3",
  );
}

function showItems(shortIDs: string[], flags: GetFlags): Promise<void> {
  const { wid } = flags;
  return withClient(flags, async (client, signal) => {
    const levels = await client.inventory.getStockLevels(shortIDs, { wid }, { signal });
    const found: FoundStock[] = [];
    for (const [shortID, stockLevel] of levels) {
      const item = await client.items.get(shortID, { signal });
      found.push({ item, stockLevel, lots: await client.inventory.getLots(shortID, { wid }, { signal }) });
    }
    if (flags.json) return printJson(found.length > 1 ? found : found[0], 2);
    await print(found.map((stock) => describeStock(stock, wid)).join("\n\n"));
  });
}

const QUANTITIES = ["available", "inStock", "onOrder", "onHold", "committed", "packed", "aSN"] as const;

function describeStock({ item, stockLevel, lots }: FoundStock, wid: number | undefined): string {
  const bold = (text: string) => painter(process.stdout)("bold", text);
  const { partNo, shortID, description, category, uOM, discontinued } = item;
  const where = wid === undefined ? "all warehouses" : `warehouse ${wid}`;
  const quantities = stockLevel && table(QUANTITIES, [QUANTITIES.map((name) => stockLevel[name])]);
  return [
    `${bold(printable(shortID))}  ${printable(description)}`,
    `partNo ${partNo}, category ${category}, unit ${printable(uOM)}${discontinued ? ", discontinued" : ""}`,
    "",
    bold(`Stock in ${where}`),
    quantities ?? "not listed",
    "",
    bold(plural(lots.length, "lot")),
    ...(lots.length > 0 ? [table(LOT_COLUMNS, lots.map(lotCells))] : []),
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
