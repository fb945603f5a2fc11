import { Big } from "big.js";
import type { SandboxStockLevel, SandboxWarehouse } from "../options/options.js";
import type { ItemCatalog } from "../store/item-catalog.js";
import type { StockTotals } from "../store/stock-totals.js";
import { sandboxOptionError } from "../validation.js";
import { createRandomGenerator, deriveSeed, type RandomGenerator, randomBoolean, randomInteger } from "./random.js";

const ORDER_QUANTITY_SEED_SALT = 0xde3a;

/** Sets the quantities that do not come from lots: on order, committed, packed, in transit. */
export type SetOrderQuantities = (totals: StockTotals) => void;

/** Orders and shipments for generated stock. Committed and packed quantities never exceed the stock. */
export function generateOrderQuantities(seed: number): SetOrderQuantities {
  return (totals) => {
    for (const { partNo, byWarehouse } of totals.all()) {
      for (const [wID, stock] of byWarehouse) {
        const random = createRandomGenerator(deriveSeed(seed ^ ORDER_QUANTITY_SEED_SALT ^ wID, partNo));
        const free = stock.inStock.minus(stock.onHold).toNumber();
        stock.committed = randomWholeQuantityOrZero(random, 0.35, free * 0.4);
        stock.packed = randomWholeQuantityOrZero(random, 0.2, free * 0.15);
        stock.onOrder = randomBoolean(random, 0.3) ? new Big(randomInteger(random, 1, 40) * 25) : stock.onOrder;
        stock.aSN = randomBoolean(random, 0.15) ? new Big(randomInteger(random, 1, 20) * 10) : stock.aSN;
      }
    }
  };
}

/** The caller's quantities. Throws a `ConfigurationError` for an unknown SKU or warehouse. */
export function checkUserOrderQuantities(
  given: readonly SandboxStockLevel[],
  catalog: ItemCatalog,
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): SetOrderQuantities {
  const known = given.map(({ shortID, wid = warehouses[0].wID, ...quantities }) => {
    const partNo = catalog.findBySku(shortID)?.item.partNo;
    if (partNo === undefined) throw sandboxOptionError(["stockLevels"], `there is no item ${shortID}`);
    if (!warehouses.some(({ wID }) => wID === wid))
      throw sandboxOptionError(["stockLevels"], `there is no warehouse ${wid}`);
    return { partNo, wid, ...quantities };
  });
  return (totals) => {
    for (const { partNo, wid, onOrder = 0, committed = 0, packed = 0, aSN = 0 } of known) {
      const stock = totals.quantities(partNo, wid);
      stock.onOrder = new Big(onOrder);
      stock.committed = new Big(committed);
      stock.packed = new Big(packed);
      stock.aSN = new Big(aSN);
    }
  };
}

function randomWholeQuantityOrZero(random: RandomGenerator, probability: number, most: number): Big {
  const wanted = randomBoolean(random, probability) ? Math.floor(random() * most) : 0;
  return new Big(wanted);
}
