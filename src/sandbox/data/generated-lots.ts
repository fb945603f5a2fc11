import type { Item } from "../../schemas/item.js";
import type { Lot } from "../../schemas/lot.js";
import type { SandboxWarehouse } from "../options/options.js";
import type { LotGenerator, LotSummary } from "../store/lot-store.js";
import { isoTime } from "../time.js";
import { HISTORY_END_MS, HISTORY_START_MS } from "./generated-items.js";
import { chance, createRandom, deriveSeed, integerBetween, pickOne, type Random } from "./random.js";
import { JOBS, OWNERS, REMARKS } from "./sample-names.js";

const FIRST_REC_NO = 100_001;
const LOT_STREAM = 0x107;
const DAY_MS = 86_400_000;

/** Decimal places of a quantity, by unit of measure; 0 for all others. */
const DECIMAL_PLACES: ReadonlyMap<string, number> = new Map([
  ["KG", 3],
  ["M", 2],
  ["L", 1],
]);

interface GeneratedLot extends LotSummary {
  readonly item: Item;
  readonly warehouse: SandboxWarehouse;
  readonly active: boolean;
  readonly shippedAt: number | undefined;
}

/** `count` lots of the given items. Each is a pure function of seed and record number, so none is stored. */
export function createLotGenerator(
  seed: number,
  count: number,
  items: readonly [Item, ...Item[]],
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): LotGenerator {
  const stepMs = (HISTORY_END_MS - HISTORY_START_MS) / Math.max(count, 1);

  const generate = (recNo: number, random: Random): GeneratedLot => {
    const index = recNo - FIRST_REC_NO;
    // The first lots are stock of the first item, one in each warehouse: examples can rely on it.
    const exampleWarehouse = warehouses[index];
    // Squared, so that a few items have many lots and most have few; likewise for warehouses.
    const randomItem = items[Math.floor(random() ** 2 * items.length)] ?? items[0];
    const randomWarehouse = warehouses[Math.floor(random() ** 1.5 * warehouses.length)] ?? warehouses[0];
    const item = exampleWarehouse ? items[0] : randomItem;
    const warehouse = exampleWarehouse ?? randomWarehouse;
    const receivedAt = HISTORY_START_MS + Math.floor((index * stepMs) / 1000) * 1000;
    const shipped = chance(random, 0.3) && !exampleWarehouse;
    const shippedAt = shipped ? receivedAt + integerBetween(random, 1, 90 * 86_400) * 1000 : undefined;
    const active = !chance(random, 0.01) || exampleWarehouse !== undefined;
    const open = active && !shipped;
    return {
      item,
      partNo: item.partNo,
      warehouse,
      wID: warehouse.wID,
      receivedAt,
      shippedAt,
      modifiedAt: shippedAt ?? receivedAt + integerBetween(random, 0, 7 * DAY_MS),
      active,
      open,
      hold: open && chance(random, 0.05) && !exampleWarehouse,
      units: shipped ? 0 : randomQuantity(random, DECIMAL_PLACES.get(item.uOM) ?? 0),
    };
  };

  return {
    firstRecNo: FIRST_REC_NO,
    count,
    summary: (recNo) => generate(recNo, createRandom(deriveSeed(seed ^ LOT_STREAM, recNo))),
    lot: (recNo) => {
      const random = createRandom(deriveSeed(seed ^ LOT_STREAM, recNo));
      return toLot(recNo, generate(recNo, random), random);
    },
  };
}

function randomQuantity(random: Random, places: number): number {
  return integerBetween(random, 1, 500 * 10 ** places) / 10 ** places;
}

function toLot(recNo: number, generated: GeneratedLot, random: Random): Lot {
  const { item, warehouse, shippedAt } = generated;
  const job = chance(random, 0.08) ? JOBS[integerBetween(random, 0, JOBS.length - 1)] : undefined;
  const owner =
    item.dfltOwner === 0 && chance(random, 0.05) ? OWNERS[integerBetween(random, 1, OWNERS.length - 1)] : undefined;
  return {
    recNo,
    partNo: item.partNo,
    shortID: item.shortID,
    description: item.description,
    associate: owner?.name ?? OWNERS.find(({ id }) => id === item.dfltOwner)?.name ?? "",
    warehouse: warehouse.name,
    wID: warehouse.wID,
    spot: randomBin(random),
    units: generated.units,
    received: isoTime(generated.receivedAt),
    shipped: shippedAt === undefined ? null : isoTime(shippedAt),
    serial: chance(random, 0.6) ? `L${isoTime(generated.receivedAt).slice(2, 4)}-${recNo}` : "",
    serial2: chance(random, 0.15) ? `B${integerBetween(random, 1000, 9999)}` : null,
    rFIDTag: chance(random, 0.2) ? `E280${randomHex(random)}${randomHex(random)}` : null,
    remark: generated.hold ? "Held for inspection" : chance(random, 0.12) ? pickOne(random, REMARKS) : "",
    hold: generated.hold,
    jobID: job?.id ?? 0,
    jobName: job?.name ?? null,
    active: generated.active,
  };
}

/** Aisle, bay and level: `B-07-3`. */
function randomBin(random: Random): string {
  const aisle = String.fromCharCode(65 + integerBetween(random, 0, 7));
  return `${aisle}-${String(integerBetween(random, 1, 24)).padStart(2, "0")}-${integerBetween(random, 1, 5)}`;
}

function randomHex(random: Random): string {
  return integerBetween(random, 0, 0xffffffff).toString(16).toUpperCase().padStart(8, "0");
}
