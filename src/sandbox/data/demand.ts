import { type Decimal, decimalOf, minus, toNumber } from "../decimal.js";
import type { SandboxStockLevel, SandboxWarehouse } from "../options.js";
import { chance, mulberry32, type Random, seedFor, whole } from "../random.js";
import { totalsIn } from "../store/opening-balance.js";
import type { Demand } from "../store/stock-book.js";

const DEMAND_STREAM = 0xde3a;

/** Orders and shipments that fit the generated stock: never more promised than there is. */
export function generatedDemand(seed: number): Demand {
  return ({ totals }) => {
    for (const [wID, items] of totals) {
      for (const [partNo, stock] of items) {
        const random = mulberry32(seedFor(seed ^ DEMAND_STREAM ^ wID, partNo));
        const free = toNumber(minus(stock.inStock, stock.onHold));
        stock.committed = share(random, 0.35, free * 0.4);
        stock.packed = share(random, 0.2, free * 0.15);
        stock.onOrder = chance(random, 0.3) ? decimalOf(whole(random, 1, 40) * 25) : stock.onOrder;
        stock.aSN = chance(random, 0.15) ? decimalOf(whole(random, 1, 20) * 10) : stock.aSN;
      }
    }
  };
}

/** The quantities that the caller gave. Throws a `TypeError` for a SKU or a warehouse that does not exist. */
export function ownDemand(
  given: readonly SandboxStockLevel[],
  partNoOf: (shortID: string) => number | undefined,
  [first, ...others]: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): Demand {
  const warehouses = new Set([first, ...others].map(({ wID }) => wID));
  const known = given.map(({ shortID, wid = first.wID, ...quantities }) => {
    const partNo = partNoOf(shortID);
    if (partNo === undefined) throw new TypeError(`Sandbox option "stockLevels": there is no item ${shortID}.`);
    if (!warehouses.has(wid)) throw new TypeError(`Sandbox option "stockLevels": there is no warehouse ${wid}.`);
    return { partNo, wid, ...quantities };
  });
  return (balance) => {
    for (const { partNo, wid, onOrder = 0, committed = 0, packed = 0, aSN = 0 } of known) {
      const stock = totalsIn(balance, wid, partNo);
      stock.onOrder = decimalOf(onOrder);
      stock.committed = decimalOf(committed);
      stock.packed = decimalOf(packed);
      stock.aSN = decimalOf(aSN);
    }
  };
}

function share(random: Random, probability: number, most: number): Decimal {
  const wanted = chance(random, probability) ? Math.floor(random() * most) : 0;
  return decimalOf(wanted);
}
