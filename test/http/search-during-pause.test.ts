import { expect, it } from "vitest";
import { InventoryClient, RateLimitError, TimeoutError } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { stopTime } from "../support/loop-time.js";

it("a search that a pause would outlast fails at once, and reports when to try again", async () => {
  const sandbox = createSandbox();
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, retry: false });
  sandbox.addFault({ path: "/Inventory", times: 1, fault: 429 });
  await expect(client.inventory.listLots().page()).rejects.toThrow(RateLimitError);
  const body = { itemID: "BOLT-M8", units: 1, wid: 3, reasonCode: 1 };
  const sent = { method: "POST", path: "/Inventory/Receive", body, sentAt: Date.now() };
  stopTime();
  const error = await client.inventory.findReceipt(sent, { settleMs: 2_000, totalTimeoutMs: 5_000 }).catch((e) => e);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.retryAfterMs).toBeGreaterThan(5_000);
  expect(error.message).toMatch(/pause until/);
});
