import { ConfigurationError, InventoryClient } from "stocklot";
import { createSandbox, type FaultRule, type SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";

const A = { shortID: "A" };
const client = { clientId: "c", clientSecret: "s" };

describe("invalid options", () => {
  it.each([
    [{ ratelimit: false }, /ratelimit: unknown option, did you mean "rateLimit"\?$/],
    [{ clients: [] }, /clients: must not be empty/],
    [{ tokenTtlSeconds: 0 }, /tokenTtlSeconds: Too small/],
    [{ rateLimit: { window: "rolling" } }, /rateLimit.window: Invalid option/],
    [{ faults: [{ fault: "drop" }, {}] }, /faults\[1\]/],
  ])("%j is a ConfigurationError that names it", expectConfigurationError);
});

describe("invalid clients", () => {
  it.each([
    [[client, client], /clients: clientId c occurs twice/],
    [[{ clientId: "c" }], /clients\[0\].clientSecret: /],
    [[{ ...client, readonly: true }], /clients\[0\].readonly: unknown option, did you mean "readOnly"\?$/],
  ])("%j is a ConfigurationError that names it", (clients, message) => expectConfigurationError({ clients }, message));
});

describe("invalid data", () => {
  it.each([
    [{ items: [A, A] }, /items: shortID A occurs twice/],
    [{ items: [A, { shortID: "B", uom: "KG" }] }, /items\[1\].uom: must be spelled "uOM"/],
    [{ items: [{ ...A, category: "10" }] }, /items\[0\].category: Invalid input/],
    [
      {
        lots: [
          { ...A, recNo: 7 },
          { ...A, recNo: 7, units: 5 },
        ],
      },
      /lots: recNo 7 occurs twice/,
    ],
    [{ lots: [A, { ...A, units: -1 }] }, /lots\[1\].units: Too small/],
    [{ items: [A], lots: [{ partNo: 5 }] }, /lots\[0\].partNo: must be that of an item/],
    [{ warehouses: [{ wID: 9, name: "Nine" }], lots: [{ ...A, wID: 1 }] }, /lots\[0\].wID: /],
    [{ items: [A], aliases: { old: "B" } }, /aliases: "old" points to B, which is not an item/],
    [{ warehouses: [{ wID: 9, name: "Nine" }], clients: [{ ...client, warehouses: [1] }] }, /no warehouse 1,/],
    [{ items: [A], stockLevels: [{ ...A, asn: 1 }] }, /stockLevels\[0\].asn: unknown option, did you mean "aSN"/],
  ])("%j is a ConfigurationError that names record and field", expectConfigurationError);
});

describe("invalid fault rules", () => {
  const rules = [
    [{ fault: "drop-aftr" }, /fault: must be a status or one of drop, .*, did you mean "drop-after"\?$/],
    [{ fault: 42 }, /fault.status: must be an HTTP status from 200 to 599/],
    [{ fault: { type: "status", status: 503, header: {} } }, /fault.header: unknown option, did you mean "headers"/],
    [{ fault: { type: "status", status: 503, headers: { "a b": "c" } } }, /fault.headers: /],
    [{ fault: { type: "drop", when: "later" } }, /fault.when: Invalid option/],
    [{ fault: "drop", times: -1 }, /times: must be an integer of at least 0, or Infinity/],
    [{ fault: "drop", probability: 2 }, /probability: Too big/],
    [{ fault: "drop", path: "Item" }, /path: must begin with/],
  ] as const;

  it.each(rules)("%j is a ConfigurationError that names the field, when it is added", (rule, message) => {
    const sandbox = createSandbox();
    const add = () => sandbox.addFault(rule as unknown as FaultRule);
    expect(add).toThrow(ConfigurationError);
    expect(add).toThrow(message);
  });
});

function expectConfigurationError(options: unknown, message: RegExp): void {
  const create = () => createSandbox(options as SandboxOptions);
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
}

it("what the caller does to its options later has no effect", async () => {
  const items = [A];
  const sandbox = createSandbox({ items, lots: [] });
  items.push({ ...A, shortID: "B" });
  sandbox.reset();
  const client = new InventoryClient({ baseUrl: sandbox.baseUrl, ...sandbox.credentials, fetch: sandbox.fetch });
  expect(await client.items.list().toArray()).toHaveLength(1);
});

it("data may name warehouses of their own and hold fields that the document does not know", async () => {
  const own = { ...A, wID: 77, warehouse: "Attic", createdBy: "eve" };
  const item = { ...A, createdBy: 7 };
  const sandbox = createSandbox({ items: [item], lots: [own], clients: [{ ...client, warehouses: [77] }] });
  const api = new InventoryClient({ baseUrl: sandbox.baseUrl, ...client, fetch: sandbox.fetch });
  expect(await api.inventory.listLots({ wid: 77 }).toArray()).toMatchObject([{ warehouse: "Attic", createdBy: "eve" }]);
  expect(await api.items.get(A.shortID)).toMatchObject({ createdBy: 7 });
});
