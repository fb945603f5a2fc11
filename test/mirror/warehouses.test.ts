import { describe, expect, it } from "vitest";
import { createMirror, type MirrorOptions } from "../../src/mirror/index.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";
import { recordsIn, statusOf, useCopies } from "./support/copies.js";

const { sinks: SINKS } = await useCopies("warehouses");

describe.each(Object.keys(SINKS))("stock levels per warehouse in %s", (name) => {
  function setUp(options: Partial<MirrorOptions> = {}) {
    const service = new ChangingService(seededRandom(8));
    for (let left = 40; left > 0; left -= 1) service.addItem();
    for (let left = 500; left > 0; left -= 1) service.addLot();
    service.advance(3_600_000);
    const sink = (SINKS[name] ?? expect.fail())();
    const client = service.client();
    const create = (more: Partial<MirrorOptions> = {}) => createMirror({ client, sink, ...options, ...more });
    const levels = () => recordsIn(sink, "warehouseStockLevels");
    return { service, sink, create, levels };
  }

  it("are copied and kept up to date, beside the sums over all warehouses", async () => {
    const { service, sink, create, levels } = setUp({ warehouses: [1, 3] });
    const mirror = create();
    const { resources } = await mirror.run();
    expect(await levels()).toEqual(service.warehouseLevels(1, 3));
    expect(await recordsIn(sink, "stockLevels")).toEqual(service.records("stockLevels"));
    expect(resources.warehouseStockLevels).toMatchObject({
      ...{ modes: ["first", "first"], added: service.warehouseLevels(1, 3).size },
      inCopy: service.warehouseLevels(1, 3).size,
    });
    for (let left = 20; left > 0; left -= 1) service.changeLot();
    await mirror.run();
    expect(await levels()).toEqual(service.warehouseLevels(1, 3));
    expect((await mirror.run()).resources.warehouseStockLevels).toMatchObject({ kind: "increment", changed: 0 });
  });

  it("lose the level of an item whose last lot leaves the warehouse, and those of one only", async () => {
    const { service, create, levels } = setUp({ warehouses: [2, 3] });
    const mirror = create();
    await mirror.run();
    const before = service.warehouseLevels(2).size;
    while (service.warehouseLevels(2).size === before) service.removeLot();
    await mirror.run({ full: true, allowRemovals: true });
    expect(await levels()).toEqual(service.warehouseLevels(2, 3));
  });

  it("of a warehouse that is added are read, and of one that is left out removed", async () => {
    const { service, create, levels } = setUp();
    await create({ warehouses: [1, 2], history: { days: 9 } }).run();
    const removed = service.warehouseLevels(1).size;
    expect((await create({ warehouses: [2, 3] }).run()).removed).toBe(removed);
    expect(await levels()).toEqual(service.warehouseLevels(2, 3));
    // A mirror that mirrors none leaves them alone.
    await create().run();
    expect(await levels()).toEqual(service.warehouseLevels(2, 3));
    expect((await create().status()).map(({ list, wID }) => [list, wID])).toEqual([
      ["items", null],
      ["lots", null],
      ["stockLevels", null],
      ["warehouseStockLevels", 2],
      ["warehouseStockLevels", 3],
    ]);
    await create({ warehouses: [] }).run();
    expect((await levels()).size).toBe(0);
    expect(await create().status()).toHaveLength(3);
  });

  it("are read again from the beginning, warehouse by warehouse, after an interruption", async () => {
    const { service, create, levels } = setUp({ warehouses: [1, 2, 3] });
    service.beforePage = (request) => (request.includes("StockLevels/2") ? 403 : undefined);
    await expect(create().run()).rejects.toThrow("403");
    const status = await create().status();
    expect([1, 2, 3].map((wID) => statusOf(status, "warehouseStockLevels", wID).asOf !== null)).toEqual([
      ...[true, false, true],
    ]);
    service.beforePage = () => {};
    expect((await create().run()).resources.warehouseStockLevels?.beganAgain).toBe(true);
    expect(await levels()).toEqual(service.warehouseLevels(1, 2, 3));
  });
});
