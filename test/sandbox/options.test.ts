import { ConfigurationError, InventoryClient } from "stocklot";
import { createSandbox, type FaultRule, type SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { callerOf } from "./support/caller.js";

const A = { shortID: "A" };
const client = { clientId: "c", clientSecret: "s" };

describe("invalid options", () => {
  it.each([
    [{ ratelimit: false }, /unknown option "ratelimit", did you mean "rateLimit"\?$/],
    [null, /options: must be an object, not null/],
    [{ items: -1 }, /items: must be at least 0, not -1/],
    [{ clients: [] }, /clients: must not be empty/],
    [{ tokenTtlSeconds: 0 }, /tokenTtlSeconds: must be greater than 0/],
    [{ latencyMs: [5, 1] }, /latencyMs: /],
    [{ now: 5 }, /now: must be a function/],
    [{ rateLimit: { window: "rolling" } }, /rateLimit.window: must be "sliding" or "fixed", not "rolling"/],
    [{ createForm: "full" }, /createForm: /],
    [{ rewrite: {} }, /rewrite: must be a function/],
    [{ faults: [{ fault: "drop" }, {}] }, /faults\[1\]/],
    [{ modifiedSinceOn: ["orders"] }, /modifiedSinceOn\[0\]: /],
  ])("%j is a ConfigurationError that names it", expectConfigurationError);

  it("are not those that are undefined", async () => {
    const options: SandboxOptions = { seed: undefined, rateLimit: undefined, clients: undefined };
    expect((await callerOf(createSandbox(options)).get("/Item")).status).toBe(200);
  });
});

describe("invalid clients", () => {
  it.each([
    [[client, client], /clients: clientId c occurs twice/],
    [[{ clientId: "c" }], /clients\[0\].clientSecret: /],
    [[{ ...client, readonly: true }], /clients\[0\]: unknown option "readonly", did you mean "readOnly"\?$/],
    [[{ ...client, permissions: "11" }], /clients\[0\].permissions: must be an array/],
  ])("%j is a ConfigurationError that names it", (clients, message) => expectConfigurationError({ clients }, message));
});

describe("invalid data", () => {
  it.each([
    [{ items: [A, A] }, /items: shortID A occurs twice/],
    [{ items: [{}] }, /items\[0\].shortID: is required/],
    [{ items: [A, { shortID: "B", uom: "KG" }] }, /items\[1\].uom: must be spelled "uOM"/],
    [{ items: [{ ...A, category: "10" }] }, /items\[0\].category: must be an integer, not "10"/],
    [
      {
        items: [
          { shortID: "A", partNo: 5 },
          { shortID: "B", partNo: 5 },
        ],
      },
      /items: partNo 5 occurs twice/,
    ],
    [
      {
        lots: [
          { ...A, recNo: 7 },
          { ...A, recNo: 7, units: 5 },
        ],
      },
      /lots: recNo 7 occurs twice/,
    ],
    [{ lots: [{ ...A, units: "5" }] }, /lots\[0\].units: must be a number, not "5"/],
    [{ lots: [A, { ...A, units: -1 }] }, /lots\[1\].units: must be at least 0, not -1/],
    [{ lots: [{ units: 1 }] }, /lots\[0\].shortID: is required/],
    [{ items: [A], lots: [{ partNo: 5 }] }, /lots\[0\].partNo: must be that of an item, not 5/],
    [{ items: [A], lots: [{ ...A, partNo: 5 }] }, /lots\[0\].partNo: must be 1001/],
    [{ warehouses: [{ wID: 9, name: "Nine" }], lots: [{ ...A, wID: 1 }] }, /lots\[0\].wID: /],
    [{ lots: [{ ...A, warehouse: "Nowhere" }] }, /lots\[0\].warehouse: /],
    [
      { lots: [A, { ...A, wID: 1, warehouse: "One" }, { ...A, wID: 1, warehouse: "Uno" }] },
      /lots\[1\].warehouse: must be "Uno", not "One"/,
    ],
    [
      {
        warehouses: [
          { wID: 1, name: "One" },
          { wID: 1, name: "Two" },
        ],
      },
      /warehouses: wID 1 occurs twice/,
    ],
    [{ items: [A], aliases: { old: "B" } }, /aliases: "old" points to B, which is not an item/],
    [{ stockLevels: [{ shortID: "none" }] }, /no item none/],
    [{ warehouses: [{ wID: 9, name: "Nine" }], clients: [{ ...client, warehouses: [1] }] }, /no warehouse 1,/],
    [{ items: [A], warehouses: [{ wID: 9, name: "Nine" }], stockLevels: [{ ...A, wid: 99 }] }, /no warehouse 99/],
    [{ items: [A], stockLevels: [{ ...A, asn: 1 }] }, /stockLevels\[0\]: unknown option "asn", did you mean "aSN"/],
  ])("%j is a ConfigurationError that names record and field", expectConfigurationError);
});

describe("invalid fault rules", () => {
  const rules = [
    [{ fault: "drop-aftr" }, /fault: must be a status or one of drop, .*, slow, did you mean "drop-after"\?$/],
    [{ fault: "html" }, /fault: must be a status or one of drop, drop-after, hang, hang-after, truncated, slow$/],
    [{}, /fault: /],
    [{ fault: 42 }, /fault.status: must be an HTTP status from 200 to 599/],
    [{ fault: { type: "status", status: 503, header: {} } }, /fault: unknown option "header", did you mean "headers"/],
    [{ fault: { type: "status", status: 503, headers: { "a b": "c" } } }, /fault.headers: /],
    [{ fault: { type: "slow", chunkBytes: 0 } }, /fault.chunkBytes: must be at least 1, not 0/],
    [{ fault: { type: "drop", when: "later" } }, /fault.when: must be "before" or "after"/],
    [{ fault: "drop", tmies: 1 }, /unknown option "tmies"/],
    [{ fault: "drop", times: -1 }, /times: must be an integer of at least 0, or Infinity/],
    [{ fault: "drop", probability: 2 }, /probability: must be at most 1, not 2/],
    [{ fault: "drop", path: "Item" }, /path: must begin with/],
    [{ fault: "drop", method: "" }, /method: /],
    [undefined, /must be an object/],
  ] as const;

  it.each(rules)("%j is a ConfigurationError that names the field, when it is added", (rule, message) => {
    const sandbox = createSandbox();
    const add = () => sandbox.addFault(rule as unknown as FaultRule);
    expect(add).toThrow(ConfigurationError);
    expect(add).toThrow(message);
  });

  it.each([
    { fault: "drop", times: Number.POSITIVE_INFINITY, path: "*Item*", probability: 0 },
    { fault: { type: "status", status: 299, body: null, headers: { "Retry-After": "1" }, when: "after" } },
    { fault: { type: "slow", delayMs: 0.5, chunkBytes: 1 }, path: /x/, method: "get", skip: 0 },
  ])("%j is fine", (rule) => {
    expect(() => createSandbox({ faults: [rule as FaultRule] }).addFault(rule as FaultRule)).not.toThrow();
  });
});

function expectConfigurationError(options: unknown, message: RegExp): void {
  const create = () => createSandbox(options as SandboxOptions);
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
}

it("data may name warehouses of their own and hold fields that the document does not know", async () => {
  const own = { ...A, wID: 77, warehouse: "Attic", createdBy: "eve" };
  const item = { ...A, createdBy: 7 };
  const sandbox = createSandbox({ items: [item], lots: [own], clients: [{ ...client, warehouses: [77] }] });
  const api = new InventoryClient({ baseUrl: sandbox.baseUrl, ...client, fetch: sandbox.fetch });
  expect(await api.inventory.listLots({ wid: 77 }).toArray()).toMatchObject([{ warehouse: "Attic", createdBy: "eve" }]);
  expect(await api.items.get(A.shortID)).toMatchObject({ createdBy: 7 });
});
