import { describe, expect, it } from "vitest";
import { ConfigurationError, InputValidationError } from "../../src/index.js";
import { createMirror, type MirrorEvent, type MirrorOptions } from "../../src/mirror/index.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

function setUp(options: Partial<MirrorOptions> = {}) {
  const service = new ChangingService(seededRandom(8));
  for (let left = 40; left > 0; left -= 1) service.addItem();
  for (let left = 500; left > 0; left -= 1) service.addLot();
  service.advance(3_600_000);
  const sink = new MemorySink();
  const events: MirrorEvent[] = [];
  const client = service.client();
  const create = (more: Partial<MirrorOptions> = {}) =>
    createMirror({ client, sink, onEvent: (event) => void events.push(event), ...options, ...more });
  return { service, sink, events, client, create };
}

describe("stock levels per warehouse", () => {
  it("are copied and followed with events, beside the sums over all warehouses", async () => {
    const { service, sink, events, create } = setUp({ warehouses: [1, 3] });
    const mirror = create();
    const { resources } = await mirror.run();
    expect(sink.all("warehouseStockLevels")).toEqual(service.warehouseLevels(1, 3));
    expect(sink.all("stockLevels")).toEqual(service.records("stockLevels"));
    expect(sink.all("lots")).toEqual(service.records("lots"));
    const levels = service.warehouseLevels(1, 3).size;
    expect(resources.warehouseStockLevels).toMatchObject({
      modes: ["first", "first"],
      added: levels,
      inCopy: levels,
    });
    events.length = 0;
    service.advance(3_600_000);
    for (let left = 20; left > 0; left -= 1) service.changeLot();
    await mirror.run();
    expect(sink.all("warehouseStockLevels")).toEqual(service.warehouseLevels(1, 3));
    const changed = events.filter(({ resource }) => resource === "warehouseStockLevels");
    expect(changed.length).toBeGreaterThan(3);
    for (const { key, record } of changed) {
      expect(record && "wID" in record && `${record.wID}/${record.partNo}`).toBe(key);
    }
    expect((await mirror.run()).resources.warehouseStockLevels).toMatchObject({ kind: "increment", changed: 0 });
  });

  it("lose the level of an item whose last lot leaves the warehouse", async () => {
    const { service, sink, create } = setUp({ warehouses: [2] });
    const mirror = create();
    await mirror.run();
    const before = service.warehouseLevels(2).size;
    while (service.warehouseLevels(2).size === before) service.removeLot();
    await mirror.run({ allowRemovals: true });
    expect(sink.all("warehouseStockLevels")).toEqual(service.warehouseLevels(2));
  });

  it("of a warehouse that is added are read, and of one that is left out removed", async () => {
    const { service, sink, events, create } = setUp();
    await create({ warehouses: [1, 2] }).run();
    const removed = service.warehouseLevels(1).size;
    events.length = 0;
    await create({ warehouses: [2, 3] }).run();
    expect(sink.all("warehouseStockLevels")).toEqual(service.warehouseLevels(2, 3));
    expect(events.filter(({ type }) => type === "removed")).toHaveLength(removed);
    // A mirror that mirrors none leaves them alone.
    await create().run();
    expect(sink.all("warehouseStockLevels")).toEqual(service.warehouseLevels(2, 3));
  });

  it("resume after an interruption, warehouse by warehouse", async () => {
    const { service, sink, create } = setUp({ warehouses: [1, 2, 3] });
    let left = 9;
    service.beforePage = (request) => {
      if (!request.includes("StockLevels/")) return;
      left -= 1;
      if (left % 4 === 0) throw new Error("interrupted");
    };
    for (let run = 0; run < 6; run += 1) {
      await create()
        .run()
        .catch(() => {});
    }
    service.beforePage = () => {};
    await create().run();
    expect(sink.all("warehouseStockLevels")).toEqual(service.warehouseLevels(1, 2, 3));
  });

  it.each([
    [{ warehouses: [1, 1] }, "must name each warehouse once"],
    [{ warehouses: [1.5] }, "warehouses[0]"],
    [{ resources: ["warehouseStockLevels"] }, "warehouses: is required"],
    [{ maxRemovedShare: 2 }, "maxRemovedShare"],
  ] as const)("refuse the options %j", (options, message) => {
    const { client, sink } = setUp();
    const create = () => createMirror({ client, sink, ...options });
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(message);
  });
});

describe("a run of some resources", () => {
  it("reads these and no others", async () => {
    const { service, sink, create } = setUp({ warehouses: [1] });
    const mirror = create();
    const { resources } = await mirror.run({ resources: ["items", "warehouseStockLevels"] });
    expect(Object.keys(resources)).toEqual(["items", "warehouseStockLevels"]);
    expect(service.requests.some((request) => request.startsWith("/Inventory?"))).toBe(false);
    expect(sink.all("lots").size).toBe(0);
    expect((await mirror.status()).complete).toBe(false);
    await mirror.run({ resources: ["lots", "stockLevels"] });
    expect((await mirror.status()).complete).toBe(true);
  });

  it("refuses resources that the mirror does not mirror", async () => {
    const mirror = setUp().create({ resources: ["items"] });
    await expect(mirror.run({ resources: ["lots"] })).rejects.toBeInstanceOf(InputValidationError);
    await expect(mirror.run({ resources: ["lots"] })).rejects.toThrow(
      "mirror.run: resources: this mirror does not mirror lots",
    );
    await expect(mirror.watch({ everyMs: { lots: 5 } })).rejects.toThrow("mirror.watch: everyMs");
    await expect(mirror.watch({ everyMs: {} })).rejects.toThrow("must name a resource");
    await expect(mirror.run({ resources: [] })).rejects.toBeInstanceOf(InputValidationError);
  });
});

describe("a watch with a cadence per resource", () => {
  it("reads each resource at its own interval", async () => {
    const { service, create } = setUp();
    const stop = new AbortController();
    const runs: string[] = [];
    await create().watch({
      everyMs: { lots: 40, stockLevels: 3_600_000 },
      signal: stop.signal,
      onReport: ({ resources }) => {
        runs.push(Object.keys(resources).join());
        if (runs.length === 5) stop.abort();
      },
    });
    expect(runs).toEqual(["lots,stockLevels", "lots", "lots", "lots", "lots"]);
    expect(service.requests.some((request) => request.startsWith("/Item"))).toBe(false);
  });
});
