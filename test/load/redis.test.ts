import { InventoryClient } from "stocklot";
import { createSandbox } from "stocklot/sandbox";
import { afterAll, describe, expect, it } from "vitest";
import { limiterAt, newKey } from "../redis/support/limiters.js";
import { findRedis } from "../redis/support/redis-server.js";

const server = await findRedis();
afterAll(() => server?.close());

describe.skipIf(!server)("four processes that share one limit", () => {
  it("answer 60 callers each, who ask for one SKU, with as many requests as one caller of each process", async () => {
    const sandbox = createSandbox({ items: 2_000, lots: 4_000 });
    const clientWith = (key: string) =>
      new InventoryClient({
        baseUrl: sandbox.baseUrl,
        ...sandbox.credentials,
        fetch: sandbox.fetch,
        rateLimiter: limiterAt(server?.url ?? "", { key, requests: 100, intervalMs: 60_000, reserved: 10 }),
      });
    const ask = (client: InventoryClient) => client.inventory.getStockLevel("BOLT-M8", {}, { totalTimeoutMs: 20_000 });
    const alone = clientWith(newKey());
    const level = await ask(alone);
    const requests = sandbox.requests.length;
    await alone.close();
    sandbox.reset();
    const key = newKey();
    const clients = Array.from({ length: 4 }, () => clientWith(key));
    const levels = await Promise.all(clients.flatMap((client) => Array.from({ length: 60 }, () => ask(client))));
    expect(levels).toEqual(levels.map(() => level));
    expect(sandbox.requests.length).toBeLessThanOrEqual(4 * requests);
    await Promise.all(clients.map((client) => client.close()));
  });
});
