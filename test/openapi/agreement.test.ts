import { createSandbox, type FaultRule, type SandboxItem, type SandboxOptions } from "stocklot/sandbox";
import { afterEach, describe, expect, it } from "vitest";
import document from "../../openapi.json" with { type: "json" };
import { type ClientOptions, InventoryClient, OutcomeUnknownError } from "../../src/index.js";
import { SUITE } from "../conformance/suite.js";
import { CLIENTS, Target } from "../conformance/target.js";
import { duplicatesAs400, transactionForms } from "../support/other-forms.js";
import { Contract } from "./contract.js";

const contract = new Contract(document);

afterEach(() => {
  expect(contract.problems.splice(0)).toEqual([]);
});

const BOLT: SandboxItem = { shortID: "BOLT", partNo: 7, category: 3 };

const DATA: SandboxOptions = {
  clients: Object.values(CLIENTS),
  rateLimit: false,
  items: [BOLT, { shortID: "NUT/M8", category: 3 }],
  lots: [
    { shortID: "BOLT", units: 20, wID: 1, spot: "A" },
    { shortID: "BOLT", units: 5, wID: 2 },
  ],
  aliases: { "B-1": "BOLT" },
};

/** Creates a client of a sandbox. Its requests and responses are checked against the OpenAPI document. */
function connect(
  options: SandboxOptions = {},
  clientOptions: ClientOptions & { as?: keyof typeof CLIENTS; wrongOnPurpose?: boolean } = {},
) {
  const { as = "main", wrongOnPurpose = false, ...rest } = clientOptions;
  const sandbox = createSandbox({ ...DATA, ...options });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    clientId: CLIENTS[as].clientId,
    clientSecret: CLIENTS[as].clientSecret,
    fetch: contract.watch(sandbox.fetch, { requests: !wrongOnPurpose }),
    retry: false,
    rateLimit: false,
    ...rest,
  });
  return { sandbox, client };
}

type Call = (client: InventoryClient) => Promise<unknown>;

const all = { page: 1, pageSize: 25, sort: "shortID", direction: "DESC", modifiedSince: new Date(0) } as const;
const receipt = { itemID: "BOLT", units: 2.5, wid: 1, reasonCode: 1 };
const movement = { itemID: "BOLT", units: 1, wid: 1 };

/** One call of each operation, with the name of the client's method. */
const CALLS: Readonly<Record<string, readonly [method: string, call: Call]>> = {
  readItems: ["items.list", (c) => c.items.list(all).toArray()],
  listAllItems: ["items.list", (c) => c.items.list({ ...all, includeDiscontinued: true }).toArray()],
  getItemByPartNo: ["items.getByPartNo", (c) => c.items.getByPartNo(7)],
  createItem: ["items.create", (c) => c.items.create({ shortID: "NEW", description: "New", uOM: "EA", units: 1.5 })],
  updateItem: ["items.update", (c) => c.items.update("BOLT", { description: "Bolt", discontinued: false })],
  discontinueItem: ["items.discontinue", (c) => c.items.discontinue("NUT/M8")],
  listLots: ["inventory.listLots", (c) => c.inventory.listLots(all).toArray()],
  listLotsOfWarehouse: ["inventory.listLots", (c) => c.inventory.listLots({ ...all, wid: 2 }).toArray()],
  listStockLevels: ["inventory.listStockLevels", (c) => c.inventory.listStockLevels(all).toArray()],
  listStockLevelsOfWarehouse: [
    "inventory.listStockLevels",
    (c) => c.inventory.listStockLevels({ ...all, wid: 2 }).toArray(),
  ],
  receiveStock: [
    "inventory.receive",
    (c) =>
      c.inventory.receive({
        ...receipt,
        wid: 2,
        spot: "A",
        serial: "S",
        serial2: "S2",
        rfidTag: "R",
        reference: "PO 1",
        remark: "none",
        netWeight: 1.5,
        grossWeight: 2,
        price: 0.5,
        expires: new Date(0),
        supplier: 1,
        line: 1,
        jobid: 1,
      }),
  ],
  moveStock: [
    "inventory.move",
    (c) =>
      c.inventory.move({ ...movement, fromSpot: "A", toSpot: "B", shipToWid: 2, transitSlip: "T", reference: "R" }),
  ],
  issueStock: [
    "inventory.issue",
    (c) => c.inventory.issue({ ...receipt, wid: 2, shipto: 1, prodID: "P", line: 1, netWeight: 1, remark: "none" }),
  ],
};

/** Calls that use an operation in another form: GET /Item of one item, and searches. */
const OTHER_CALLS: readonly (readonly [method: string, call: Call])[] = [
  ["items.get", (c) => c.items.get("NUT/M8")],
  ["inventory.getLots", (c) => c.inventory.getLots("BOLT", { wid: 2 })],
  ["inventory.getStockLevel", (c) => c.inventory.getStockLevel("BOLT")],
  ["inventory.getStockLevels", (c) => c.inventory.getStockLevels(["BOLT"])],
  ["items.getByAlias", (c) => c.items.getByAlias("B-1")],
  ["items.listByCategory", (c) => c.items.listByCategory(3)],
];

const SUCCESSES = [...Object.values(CALLS), ...OTHER_CALLS];
const OPERATION_IDS = Object.keys(CALLS);

const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "no error",
    (error: unknown) => error,
  );

describe.each<[string, SandboxOptions]>([
  ["the default forms", {}],
  [
    "the other forms",
    {
      createForm: "item",
      rewrite: transactionForms({
        Receive: (recNo) => Response.json(recNo),
        Move: (recNo) => Response.json({ data: { recNo } }),
        Issue: () => Response.json({ any: ["thing"] }),
      }),
    },
  ],
  ["a creator in each item", { items: [{ ...BOLT, createdBy: 1 } as SandboxItem, { shortID: "NUT/M8" }] }],
])("with %s of the responses", (_, forms) => {
  it.each(SUCCESSES)("%s sends and receives what the document describes", async (_method, call) => {
    await call(connect(forms).client);
  });
});

describe("errors match the document", () => {
  it.each(Object.entries(CALLS))("%s, where anything fails", async (id, [, call]) => {
    const failing = (fault: FaultRule["fault"], expected: string) =>
      expect(failure(call(connect({ faults: [{ path: /^\/(?!Token)/, fault }] }).client))).resolves.toMatchObject({
        name: expected,
      });
    const unsafe = ["createItem", "receiveStock", "moveStock", "issueStock"].includes(id);
    await failing(400, "BadRequestError");
    await failing(401, "AuthenticationError");
    await failing(404, "NotFoundError");
    await failing(409, "ConflictError");
    await failing(429, "RateLimitError");
    await failing(500, unsafe ? "OutcomeUnknownError" : "ServerError");
    await failing(501, "NotImplementedError");
  });

  it.each(Object.entries(CALLS))("%s, where it is not allowed", async (id, [, call]) => {
    const reason = "insufficient-permissions";
    expect(await failure(call(connect({}, { as: "powerlessClient" }).client))).toMatchObject({ reason });
    const isWrite = /^(create|update|discontinue|receive|move|issue)/.test(id);
    const readOnly = call(connect({}, { as: "readOnlyClient" }).client);
    if (isWrite) expect(await failure(readOnly)).toMatchObject({ reason: "read-only" });
    else await readOnly;
    const isScoped = /OfWarehouse$|Stock$/.test(id);
    const scoped = call(connect({}, { as: "scopedClient" }).client);
    if (isScoped) expect(await failure(scoped)).toMatchObject({ reason: "warehouse-out-of-scope" });
    else await scoped;
  });

  it("a SKU that exists, an item that does not, fields that failed validation, too many requests", async () => {
    const taken: Call = (c) => c.items.create({ shortID: "BOLT" });
    expect(await failure(taken(connect({ rewrite: duplicatesAs400 }).client))).toMatchObject({ status: 400 });
    expect(await failure(taken(connect().client))).toMatchObject({ status: 409 });
    expect(await failure(connect().client.items.get("none"))).toMatchObject({ status: 404 });
    expect(await failure(connect().client.items.getByAlias("none"))).toMatchObject({ status: 404 });
    const { client } = connect({}, { wrongOnPurpose: true });
    for (const path of ["Receive", "Move", "Issue"]) {
      const body = { units: 0, wid: "one" };
      const error = await failure(client.request({ method: "POST", path: `/Inventory/${path}`, body }));
      expect(error).toMatchObject({ name: "ValidationError", details: { units: [expect.any(String)] } });
    }
    const limited = connect({ rateLimit: { requests: 1 } }).client;
    expect(await failure(limited.items.get("BOLT"))).toMatchObject({
      name: "RateLimitError",
      message: expect.stringContaining("Rate Limit Exceeded. 1 per Minute"),
    });
  });

  it.each([400, 401, 403, 429, 500, 501])("a token request with the response status %i", async (status) => {
    const { client } = connect({ faults: [{ path: "/Token", fault: status }] });
    expect(await failure(client.items.get("BOLT"))).toMatchObject({ status });
  });
});

it("finding the outcome of a write uses operations of the document", async () => {
  const lost: SandboxOptions = { faults: [{ method: "POST", path: /^\/I/, fault: "drop-after" }] };
  const { client } = connect(lost);
  const creation = await failure(client.items.create({ shortID: "LOST" }));
  const receiving = await failure(client.inventory.receive({ ...receipt, serial: "S-1" }));
  if (!OutcomeUnknownError.is(creation) || !OutcomeUnknownError.is(receiving))
    throw new Error("The fault was not applied.");
  expect(await client.items.findCreated(creation)).toMatchObject({ outcome: "applied" });
  expect(await client.inventory.findReceipt(receiving)).toMatchObject({ outcome: "applied" });
});

it("every response of the sandbox in the conformance suite matches the document", async () => {
  const sandbox = createSandbox({ clients: Object.values(CLIENTS), items: 120, lots: 900, rateLimit: false });
  const { main: credentials, ...others } = CLIENTS;
  const fetch = contract.watch(sandbox.fetch, { requests: false });
  for (const check of SUITE) await check.run(new Target({ baseUrl: sandbox.baseUrl, fetch, credentials, others }));
});

it("every method of the client was checked, and every response of every operation", () => {
  const { client } = connect();
  const methods = (["items", "inventory"] as const).flatMap((resource) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(client[resource]))
      .filter((name) => name !== "constructor")
      .map((name) => `${resource}.${name}`),
  );
  const judged = [...SUCCESSES.map(([method]) => method), "items.findCreated", "inventory.findReceipt"];
  expect([...new Set(judged)].sort()).toEqual(methods.sort());

  // `default` describes any response that is not listed.
  const named = (responses: Iterable<string>) => [...responses].filter((name) => name !== "default").sort();
  const { operations, calledOperations: seen } = contract;
  expect(operations.map(({ operationId: id }) => [id, named(seen.get(id) ?? [])])).toEqual(
    operations.map(({ operationId: id, responses }) => [id, named(Object.keys(responses))]),
  );
  expect(operations.map(({ operationId }) => operationId).sort()).toEqual([...OPERATION_IDS, "requestToken"].sort());
});
