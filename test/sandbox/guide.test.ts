import { readFileSync } from "node:fs";
import {
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  ConflictError,
  ConnectionError,
  InventoryClient,
  NotFoundError,
  NotImplementedError,
  OutcomeUnknownError,
  PermissionError,
  RateLimitError,
  ResponseValidationError,
  ServerError,
  TimeoutError,
  ValidationError,
} from "stocklot";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { afterEach, describe, expect, it, vi } from "vitest";

const reference = readFileSync(new URL("../../docs/testing-reference.md", import.meta.url), "utf8");

afterEach(() => {
  vi.useRealTimers();
});

function start(options: SandboxOptions = {}, clientOptions: Partial<ClientOptions> = {}) {
  const sandbox = createSandbox({ items: [{ shortID: "A" }], lots: [{ shortID: "A", units: 3 }], ...options });
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, retry: false, ...clientOptions });
  return { sandbox, client };
}

const receipt = { itemID: "A", units: 1, wid: 1, reasonCode: 1 };
const as = (client: object): SandboxOptions => ({ clients: [{ clientId: "c", clientSecret: "s", ...client }] });

describe("the table of errors in the guide", () => {
  it("holds: arguments and data", async () => {
    const { client } = start();
    const bad = client.request({ method: "POST", path: "/Item", body: {} });
    await expect(bad).rejects.toBeInstanceOf(ValidationError);
    await expect(client.inventory.issue({ ...receipt, units: 9 })).rejects.toBeInstanceOf(BadRequestError);
    await expect(client.inventory.receive({ ...receipt, itemID: "B" })).rejects.toBeInstanceOf(BadRequestError);
    await expect(client.items.get("no such SKU")).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.items.create({ shortID: "A" })).rejects.toBeInstanceOf(ConflictError);
    const other = start({ duplicateStatus: 400 }).client;
    await expect(other.items.create({ shortID: "A" })).rejects.toBeInstanceOf(BadRequestError);
  });

  it("holds: who asks", async () => {
    await expect(start({}, { clientSecret: "wrong" }).client.items.get("A")).rejects.toBeInstanceOf(
      AuthenticationError,
    );
    const { sandbox, client } = start();
    sandbox.addFault({ path: "/Item", fault: 401 });
    await expect(client.items.get("A")).rejects.toBeInstanceOf(AuthenticationError);

    const powerless = start(as({ permissions: [11] })).client.inventory.receive(receipt);
    await expect(powerless).rejects.toMatchObject({ reason: "insufficient-permissions" });
    const reader = start(as({ readOnly: true })).client.inventory.receive(receipt);
    await expect(reader).rejects.toMatchObject({ reason: "read-only" });
    const scoped = start(as({ warehouses: [1] }))
      .client.inventory.listLots({ wid: 2 })
      .toArray();
    await expect(scoped).rejects.toMatchObject({ reason: "warehouse-out-of-scope" });
    const body = { statusCode: 403, error: "forbidden", message: "Report access denied." };
    const report = start({ faults: [{ path: "/Item", fault: { type: "status", status: 403, body } }] }).client;
    const denied = report.items.get("A");
    await expect(denied).rejects.toBeInstanceOf(PermissionError);
    await expect(denied).rejects.toMatchObject({ reason: "report-access-denied" });
  });

  it.each([
    [429, RateLimitError],
    [501, NotImplementedError],
    [503, ServerError],
    ["drop", ConnectionError],
    ["hang", TimeoutError],
    ["wrong-shape", ResponseValidationError],
    ["invalid-json", ResponseValidationError],
    ["empty", ResponseValidationError],
    ["oversized", ResponseValidationError],
  ] as const)("holds: the fault %s", async (fault, kind) => {
    const { client } = start({ faults: [{ method: "GET", fault }] }, { timeoutMs: 300 });
    await expect(client.items.get("A", fault === "hang" ? {} : { timeoutMs: 20_000 })).rejects.toBeInstanceOf(kind);
  });

  it("holds: a write whose response is lost", async () => {
    for (const fault of ["drop-after", 503, "truncated"] as const) {
      const { client } = start({ faults: [{ path: "/Inventory/Receive", fault }] });
      await expect(client.inventory.receive(receipt)).rejects.toBeInstanceOf(OutcomeUnknownError);
    }
  });

  it.each(["wrong-shape", "invalid-json", "empty"] as const)("holds: writes with the fault %s", async (fault) => {
    const { client } = start({
      faults: [
        { path: "/Item*", fault },
        { path: "/Inventory/*", fault },
      ],
    });
    await expect(client.items.create({ shortID: "B" })).rejects.toBeInstanceOf(ResponseValidationError);
    await expect(client.items.update("A", { uOM: "EA" })).rejects.toBeInstanceOf(ResponseValidationError);
    await expect(client.items.discontinue("A")).rejects.toBeInstanceOf(ResponseValidationError);
    await expect(client.inventory.receive(receipt)).resolves.toHaveProperty("body");
    await expect(client.inventory.issue(receipt)).resolves.toHaveProperty("body");
  });

  it("holds: a transaction with an oversized response", async () => {
    const { client } = start({ faults: [{ path: "/Inventory/*", fault: "oversized" }] });
    await expect(client.inventory.receive(receipt)).rejects.toBeInstanceOf(OutcomeUnknownError);
  });

  it("holds: expired and refused tokens are replaced", async () => {
    const { sandbox, client } = start();
    await client.items.get("A");
    sandbox.advance(3_600_000);
    await client.items.get("A");
    sandbox.revokeTokens();
    await client.items.get("A");
    expect(sandbox.requests.filter(({ path }) => path === "/Token")).toHaveLength(3);
  });
});

it("fake timers drive client and sandbox alike", async () => {
  vi.useFakeTimers();
  const sandbox = createSandbox({ rateLimit: { requests: 5 } });
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
  const numbers = [1001, 1002, 1003, 1004, 1005, 1006];
  const responses = Promise.all(numbers.map((partNo) => client.items.getByPartNo(partNo)));
  await vi.runAllTimersAsync();
  expect(await responses).toHaveLength(6);
  expect(sandbox.requests.some(({ status }) => status === 429)).toBe(true);
});

it("the table of options names every option, and no other", () => {
  const source = readFileSync(new URL("../../src/sandbox/options/options.ts", import.meta.url), "utf8");
  const declared = /export interface SandboxOptions \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? "";
  const names = [...declared.matchAll(/^ {2}(\w+)\?:/gm)].map((match) => match[1]);
  const section = /## All options\n([\s\S]*?)\n## /.exec(reference)?.[1] ?? "";
  const listed = [...section.matchAll(/^\| ([^|]+) \|/gm)].flatMap((row) =>
    [...(row[1] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1]),
  );
  expect(new Set(listed)).toEqual(new Set(names));
});
