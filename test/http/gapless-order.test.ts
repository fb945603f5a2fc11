import { expect, it } from "vitest";
import { SearchedService } from "../search/searched-service.js";
import { createRandom } from "../support/random.js";
import { warningLog } from "../support/with-server.js";

it("gapless warns once per list and client if the pages are not sorted by the key, and returns every record", async () => {
  const random = createRandom(1);
  const service = new SearchedService(
    Array.from({ length: 600 }, (_, index) => index + 1),
    { sorting: "partNo-ignored" },
  );
  service.lots.sort(() => random() - 0.5);
  const { warnings, logger } = warningLog();
  const { inventory } = service.client({ logger });
  for (let round = 0; round < 2; round += 1)
    expect(await inventory.listStockLevels({}, { gapless: true }).toArray()).toHaveLength(600);
  expect(warnings).toEqual([
    expect.stringContaining("GET /Inventory/StockLevels: pages are not sorted by partNo, so gapless reading may miss"),
  ]);
});

it("gapless does not warn of a sorted list, in either direction, nor of one that the caller sorts otherwise", async () => {
  const service = new SearchedService(Array.from({ length: 600 }, (_, index) => index + 1));
  const { warnings, logger } = warningLog();
  const { inventory } = service.client({ logger });
  for (const params of [{}, { direction: "DESC" }, { sort: "available" }] as const)
    await inventory.listStockLevels(params, { gapless: true }).toArray();
  expect(warnings).toEqual([]);
});
