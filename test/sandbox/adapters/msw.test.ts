import { setupServer } from "msw/node";
import { InventoryClient } from "stocklot";
import { sandboxHandlers } from "stocklot/msw";
import { createSandbox } from "stocklot/sandbox";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Caller } from "../support/caller.js";

const BASE_URL = "https://inventory.example/tenant-7/api/v1";
const sandbox = createSandbox({ rateLimit: false, items: [{ shortID: "A" }] });
const server = setupServer(...sandboxHandlers(sandbox, `${BASE_URL}/`));

beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => sandbox.reset());
afterAll(() => server.close());

describe("sandboxHandlers", () => {
  it("use the sandbox's own base URL when none is given", async () => {
    const own = createSandbox();
    server.use(...sandboxHandlers(own));
    expect((await new Caller(own.baseUrl, own.credentials).get("/Item")).status).toBe(200);
  });

  it("leave other addresses alone", async () => {
    const complaints = vi.spyOn(console, "error").mockImplementation(() => {});
    await expect(fetch("https://inventory.example/other")).rejects.toThrow();
    await expect(fetch(`${BASE_URL}9/Item`)).rejects.toThrow();
    expect(sandbox.requests).toHaveLength(0);
    expect(complaints).toHaveBeenCalledTimes(2);
    complaints.mockRestore();
  });

  it.each([
    "https://inventory.example:443/api/v1",
    "https://Inventory.Example/api/v1/",
    "https://münchen.example/api/v1",
    "http://127.0.0.1:80/a%20b/v1",
  ])("respond under every base URL that the client accepts: %s", async (baseUrl) => {
    server.use(...sandboxHandlers(sandbox, baseUrl));
    const client = new InventoryClient({ baseUrl, ...sandbox.credentials, fetch: globalThis.fetch, retry: false });
    expect(await client.items.get("A")).toMatchObject({ shortID: "A" });
    await client.close();
  });
});
