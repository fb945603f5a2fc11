const { InventoryClient, NotFoundError } = require("stocklot");
const { createSandbox } = require("stocklot/sandbox");

/** The same tests for Jest and vitest, whose globals have the same names. */
exports.testTheClient = (fakeTimers) => {
  it("reads all lots over HTTP", async () => {
    const sandbox = createSandbox({ items: 20, lots: 300 });
    const server = await sandbox.listen({ port: 0 });
    const client = new InventoryClient({ baseUrl: server.url, ...sandbox.credentials });
    expect(await client.inventory.listLots().toArray()).toHaveLength(300);
    await expect(client.items.get("no such SKU")).rejects.toBeInstanceOf(NotFoundError);
    await client.close();
    await server.close();
  });

  it("waits for the rate limit instantly under fake timers", async () => {
    fakeTimers.useFakeTimers();
    const before = Date.now();
    const sandbox = createSandbox({ rateLimit: { requests: 5 } });
    const { baseUrl, credentials, fetch } = sandbox;
    const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
    const partNos = [1001, 1002, 1003, 1004, 1005, 1006];
    const items = Promise.all(partNos.map((partNo) => client.items.getByPartNo(partNo)));
    await fakeTimers.runAllTimersAsync();
    expect(await items).toHaveLength(6);
    expect(sandbox.requests.some(({ status }) => status === 429)).toBe(true);
    expect(Date.now() - before).toBeGreaterThanOrEqual(30_000);
    fakeTimers.useRealTimers();
  });
};
