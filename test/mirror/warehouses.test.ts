import { describe, expect, it } from "vitest";
import { createMirror, type MirrorOptions, openCopy } from "../../src/mirror/index.js";
import { seededRandom } from "../support/random.js";
import { ChangingService } from "./support/changing-service.js";
import { recordsIn, useCopies } from "./support/copies.js";

const { sinks: SINKS } = await useCopies("warehouses");

describe.each(Object.keys(SINKS))("stock levels per warehouse in %s", (name) => {
  it("of a warehouse that is added are read, and of one that is left out removed", async () => {
    const service = new ChangingService(seededRandom(8));
    for (let left = 40; left > 0; left -= 1) service.addItem();
    for (let left = 500; left > 0; left -= 1) service.addLot();
    service.advance(3_600_000);
    const sink = (SINKS[name] ?? expect.fail())();
    const client = service.client();
    const create = (options: Partial<MirrorOptions> = {}) => createMirror({ client, sink, ...options });
    const levels = () => recordsIn(sink, "warehouseStockLevels");
    await create({ warehouses: [1, 2], history: { days: 9 } }).run();
    const removed = service.warehouseLevels(1).size;
    expect((await create({ warehouses: [2, 3] }).run()).removed).toBe(removed);
    expect(await levels()).toEqual(service.warehouseLevels(2, 3));
    // The history contains the removals, but not the records of first passes.
    await using copy = await openCopy(sink);
    let rows = 0;
    for await (const { type, key } of copy.changes()) {
      expect([type, String(key)]).toEqual(["removed", expect.stringMatching(/^1\//)]);
      rows += 1;
    }
    expect(rows).toBe(removed);
    // A mirror without the option `warehouses` leaves the levels of warehouses unchanged.
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
});
