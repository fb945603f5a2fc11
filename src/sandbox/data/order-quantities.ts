import { Big } from "big.js";
import type { SandboxStockLevel, SandboxWarehouse } from "../options/options.js";
import { quantitiesFor } from "../store/stock-index.js";
import type { AddOrderQuantities } from "../store/stock-totals.js";
import { chance, createRandom, deriveSeed, integerBetween, type Random } from "./random.js";

const ORDER_STREAM = 0xde3a;

/** Orders and shipments for generated stock: never more committed and packed than is in stock. */
export function generateOrderQuantities(seed: number): AddOrderQuantities {
  return ({ quantities }) => {
    for (const [wID, items] of quantities) {
      for (const [partNo, stock] of items) {
        const random = createRandom(deriveSeed(seed ^ ORDER_STREAM ^ wID, partNo));
        const free = stock.inStock.minus(stock.onHold).toNumber();
        stock.committed = randomShare(random, 0.35, free * 0.4);
        stock.packed = randomShare(random, 0.2, free * 0.15);
        stock.onOrder = chance(random, 0.3) ? new Big(integerBetween(random, 1, 40) * 25) : stock.onOrder;
        stock.aSN = chance(random, 0.15) ? new Big(integerBetween(random, 1, 20) * 10) : stock.aSN;
      }
    }
  };
}

/** The caller's quantities. Throws a `TypeError` for an unknown SKU or warehouse. */
export function userOrderQuantities(
  given: readonly SandboxStockLevel[],
  partNoOf: (shortID: string) => number | undefined,
  [first, ...others]: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): AddOrderQuantities {
  const warehouses = new Set([first, ...others].map(({ wID }) => wID));
  const known = given.map(({ shortID, wid = first.wID, ...quantities }) => {
    const partNo = partNoOf(shortID);
    if (partNo === undefined) throw new TypeError(`Sandbox option "stockLevels": there is no item ${shortID}.`);
    if (!warehouses.has(wid)) throw new TypeError(`Sandbox option "stockLevels": there is no warehouse ${wid}.`);
    return { partNo, wid, ...quantities };
  });
  return (balance) => {
    for (const { partNo, wid, onOrder = 0, committed = 0, packed = 0, aSN = 0 } of known) {
      const stock = quantitiesFor(balance, wid, partNo);
      stock.onOrder = new Big(onOrder);
      stock.committed = new Big(committed);
      stock.packed = new Big(packed);
      stock.aSN = new Big(aSN);
    }
  };
}

function randomShare(random: Random, probability: number, most: number): Big {
  const wanted = chance(random, probability) ? Math.floor(random() * most) : 0;
  return new Big(wanted);
}
