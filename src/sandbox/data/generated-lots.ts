import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import { DAY_MS } from "../../shared/time/clock.js";
import type { SandboxWarehouse } from "../options/options.js";
import { FIRST_REC_NO, type SetOrderQuantities, type StoredLot } from "../store/stock.js";
import { addDecimals, formatIsoTime } from "../values.js";
import {
  GENERATED_HISTORY_END_MS,
  GENERATED_HISTORY_START_MS,
  SAMPLE_JOBS,
  SAMPLE_OWNERS,
  SAMPLE_REMARKS,
} from "./generated-items.js";
import {
  createRandomGenerator,
  deriveSeed,
  type RandomGenerator,
  randomBoolean,
  randomChoice,
  randomInteger,
} from "./random.js";

const LOT_SEED_SALT = 0x107;
const ORDER_QUANTITY_SEED_SALT = 0xde3a;

/** Decimal places of a quantity, by unit of measure; 0 for all others. */
const DECIMAL_PLACES_BY_UNIT: ReadonlyMap<string, number> = new Map([
  ["KG", 3],
  ["M", 2],
  ["L", 1],
]);

/** `count` lots of the given items, oldest first; none without items. */
export function generateLots(
  seed: number,
  count: number,
  [first, ...others]: readonly Item[],
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): StoredLot[] {
  if (!first) return [];
  const items = [first, ...others] as const;
  const stepMs = (GENERATED_HISTORY_END_MS - GENERATED_HISTORY_START_MS) / count;
  return Array.from({ length: count }, (_, index) => generateLot({ seed, index, stepMs }, items, warehouses));
}

/** The order of the random numbers is part of the data: a seed generates the same in every version. */
function generateLot(
  { seed, index, stepMs }: { seed: number; index: number; stepMs: number },
  items: readonly [Item, ...Item[]],
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): StoredLot {
  const recNo = FIRST_REC_NO + index;
  const random = createRandomGenerator(deriveSeed(seed ^ LOT_SEED_SALT, recNo));
  const receivedAt = GENERATED_HISTORY_START_MS + Math.floor((index * stepMs) / 1000) * 1000;
  // The first lots are stock of the first item, one in each warehouse: examples can rely on it.
  const exampleWarehouse = warehouses[index];
  // Squared, so that a few items have many lots and most have few; likewise for warehouses.
  const randomItem = items[Math.floor(random() ** 2 * items.length)] ?? items[0];
  const randomWarehouse = warehouses[Math.floor(random() ** 1.5 * warehouses.length)] ?? warehouses[0];
  const item = exampleWarehouse ? items[0] : randomItem;
  const warehouse = exampleWarehouse ?? randomWarehouse;
  const isShipped = randomBoolean(random, 0.3) && !exampleWarehouse;
  const shippedAt = isShipped ? receivedAt + randomInteger(random, 1, 90 * 86_400) * 1000 : undefined;
  const active = !randomBoolean(random, 0.01) || exampleWarehouse !== undefined;
  const modifiedAt = shippedAt ?? receivedAt + randomInteger(random, 0, 7 * DAY_MS);
  const hold = active && !isShipped && randomBoolean(random, 0.05) && !exampleWarehouse;
  const units = isShipped ? 0 : randomQuantity(random, DECIMAL_PLACES_BY_UNIT.get(item.uOM) ?? 0);
  const job = randomBoolean(random, 0.08) ? SAMPLE_JOBS[randomInteger(random, 0, SAMPLE_JOBS.length - 1)] : undefined;
  const isConsigned = item.dfltOwner === 0 && randomBoolean(random, 0.05);
  const owner = isConsigned ? SAMPLE_OWNERS[randomInteger(random, 1, SAMPLE_OWNERS.length - 1)] : undefined;
  const received = formatIsoTime(receivedAt);
  const spot = randomBinName(random);
  const serial = randomBoolean(random, 0.6) ? `L${received.slice(2, 4)}-${recNo}` : "";
  const serial2 = randomBoolean(random, 0.15) ? `B${randomInteger(random, 1000, 9999)}` : null;
  const rFIDTag = randomBoolean(random, 0.2) ? `E280${randomHexDigits(random)}${randomHexDigits(random)}` : null;
  const remark = !hold && randomBoolean(random, 0.12) ? randomChoice(random, SAMPLE_REMARKS) : "";
  const lot: Lot = {
    recNo,
    partNo: item.partNo,
    shortID: item.shortID,
    description: item.description,
    associate: owner?.name ?? SAMPLE_OWNERS.find(({ id }) => id === item.dfltOwner)?.name ?? "",
    warehouse: warehouse.name,
    wID: warehouse.wID,
    spot,
    units,
    received,
    shipped: shippedAt === undefined ? null : formatIsoTime(shippedAt),
    serial,
    serial2,
    rFIDTag,
    remark: hold ? "Held for inspection" : remark,
    hold,
    jobID: job?.id ?? 0,
    jobName: job?.name ?? null,
    active,
  };
  return { lot, receivedAt, modifiedAt };
}

function randomQuantity(random: RandomGenerator, places: number): number {
  return randomInteger(random, 1, 500 * 10 ** places) / 10 ** places;
}

/** Aisle, bay and level: `B-07-3`. */
function randomBinName(random: RandomGenerator): string {
  const aisle = String.fromCharCode(65 + randomInteger(random, 0, 7));
  return `${aisle}-${String(randomInteger(random, 1, 24)).padStart(2, "0")}-${randomInteger(random, 1, 5)}`;
}

function randomHexDigits(random: RandomGenerator): string {
  return randomInteger(random, 0, 0xffffffff).toString(16).toUpperCase().padStart(8, "0");
}

/** Orders and shipments for generated stock. Committed and packed quantities never exceed the stock. */
export function generateOrderQuantities(seed: number): SetOrderQuantities {
  return (totals) => {
    for (const { partNo, byWarehouse } of totals.all()) {
      for (const [wID, stock] of byWarehouse) {
        const random = createRandomGenerator(deriveSeed(seed ^ ORDER_QUANTITY_SEED_SALT ^ wID, partNo));
        const free = addDecimals(stock.inStock, -stock.onHold);
        stock.committed = randomWholeQuantityOrZero(random, 0.35, free * 0.4);
        stock.packed = randomWholeQuantityOrZero(random, 0.2, free * 0.15);
        stock.onOrder = randomBoolean(random, 0.3) ? randomInteger(random, 1, 40) * 25 : stock.onOrder;
        stock.aSN = randomBoolean(random, 0.15) ? randomInteger(random, 1, 20) * 10 : stock.aSN;
      }
    }
  };
}

function randomWholeQuantityOrZero(random: RandomGenerator, probability: number, most: number): number {
  return randomBoolean(random, probability) ? Math.floor(random() * most) : 0;
}
