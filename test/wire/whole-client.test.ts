import { expect, it } from "vitest";
import { createSandbox } from "../../src/sandbox/index.js";
import { closeAfterTest, connect } from "../support/with-server.js";

const KEYS = ["A/B?c=d#e", "100%", "ü ✓", "+", "a b", "%2F", "…/..", "😀", "x".repeat(300)];

it.each(KEYS)("an item can be written and read over real HTTP under the key %j", async (shortID) => {
  const sandbox = createSandbox({ items: 1, lots: 1 });
  const { url, close } = await sandbox.listen({ port: 0 });
  closeAfterTest({ close });
  const client = connect({ baseUrl: url }, { ...sandbox.credentials });
  expect(await client.items.create({ shortID, description: "odd" })).toMatchObject({ shortID, status: "created" });
  expect(await client.items.get(shortID)).toMatchObject({ shortID, description: "odd" });
  expect(await client.items.update(shortID, { description: "changed" })).toMatchObject({
    shortID,
    status: "updated",
  });
  expect(await client.items.discontinue(shortID)).toMatchObject({ shortID, status: "discontinued" });
  expect(await client.items.get(shortID)).toMatchObject({ description: "changed", discontinued: true });
  await client.inventory.receive({ itemID: shortID, units: 1.25, wid: 1, reasonCode: 1, spot: shortID.slice(0, 20) });
  const { partNo } = await client.items.get(shortID);
  const lots = await client.inventory.listLots().toArray({ limit: 250 });
  expect(lots.find((lot) => lot.partNo === partNo)).toMatchObject({ shortID, units: 1.25 });
});
