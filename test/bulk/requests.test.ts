import { expect, it } from "vitest";
import { BulkRequests } from "../../src/bulk/requests.js";
import { InventoryClient, TimeoutError } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";

const { baseUrl, credentials, fetch } = createSandbox({ items: 3, latencyMs: 30 });
const client = new InventoryClient({ baseUrl, ...credentials, fetch, totalTimeoutMs: 20 });

it("bulk work is not limited by the client's totalTimeoutMs", async () => {
  await expect(client.items.list().page()).rejects.toThrow(TimeoutError);
  await client.items.list({}, new BulkRequests({ client }).options).page();
});

it("counts its requests, and those of others with the same counter", async () => {
  const counter = { requests: 0 };
  const [one, other] = [new BulkRequests({ client, counter }), new BulkRequests({ client, counter })];
  await client.items.list({}, one.options).page();
  await client.items.list({}, other.with({ retry: false }).options).page();
  expect(counter.requests).toBe(2);
});

it("notes the service's clock when its first request was sent", async () => {
  const ahead = 3_600_000;
  const later = createSandbox({ items: 3, now: () => Date.now() + ahead });
  const requests = new BulkRequests({
    client: new InventoryClient({ baseUrl: later.baseUrl, ...later.credentials, fetch: later.fetch }),
  });
  expect(requests.serviceTimeAtStart).toBeUndefined();
  await requests.client.items.list({}, requests.options).page();
  const { serviceTimeAtStart = 0, clockAheadMs = 0 } = requests;
  expect(serviceTimeAtStart).toBeGreaterThan(Date.now() + ahead - 3_000);
  expect(serviceTimeAtStart).toBeLessThanOrEqual(Date.now() + ahead);
  expect(Math.abs(clockAheadMs - ahead)).toBeLessThan(3_000);
  await requests.client.items.list({}, requests.options).page();
  expect(requests.serviceTimeAtStart).toBe(serviceTimeAtStart);
});
