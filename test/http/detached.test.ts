import { createSandbox } from "stocklot/sandbox";
import { describe, expect, it, vi } from "vitest";
import { InventoryClient, type Paginator } from "../../src/index.js";

function setUp() {
  const sandbox = createSandbox({
    items: [{ shortID: "BOLT", partNo: 7 }],
    aliases: { ALIAS: "BOLT" },
    rateLimit: false,
  });
  const { baseUrl, credentials, fetch } = sandbox;
  return {
    options: { baseUrl, ...credentials, fetch },
    client: new InventoryClient({ baseUrl, ...credentials, fetch }),
  };
}

const units = { itemID: "BOLT", units: 1, wid: 3 };
const sentAt = Date.now();

/** Each method with arguments that it accepts. */
const ITEMS = {
  list: [],
  listByCategory: [0],
  get: ["BOLT"],
  getByAlias: ["ALIAS"],
  getByPartNo: [7],
  create: [{ shortID: "NUT" }],
  findCreated: [{ method: "POST", path: "/Item", body: { shortID: "WASHER" }, sentAt }, { settleMs: 0 }],
  update: ["BOLT", { description: "Bolt" }],
  discontinue: ["BOLT"],
};
const INVENTORY = {
  listLots: [],
  listStockLevels: [],
  getLots: ["BOLT"],
  getStockLevel: ["BOLT"],
  getStockLevels: [["BOLT"]],
  receive: [{ ...units, reasonCode: 1 }],
  findReceipt: [{ method: "POST", path: "/Inventory/Receive", body: units, sentAt }, { settleMs: 0 }],
  move: [{ ...units, shipToWid: 1 }],
  issue: [{ ...units, wid: 1, reasonCode: 1 }],
};
const CLIENT = {
  request: [{ method: "GET", path: "/Item" }],
  paginate: [{ path: "/Item" }],
  close: [],
};

const isPaginator = (value: unknown): value is Paginator<unknown> =>
  typeof value === "object" && value !== null && "toArray" in value;

/** Only the outbox calls them. */
const INTERNAL_METHODS = ["readLotsOfItem"];

const methodsOf = (object: object) => {
  const descriptors = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object));
  return Object.keys(descriptors).filter(
    (name) => name !== "constructor" && !descriptors[name]?.get && !INTERNAL_METHODS.includes(name),
  );
};

describe.each<[string, Record<string, unknown[]>, (client: InventoryClient) => object]>([
  ["items", ITEMS, ({ items }) => items],
  ["inventory", INVENTORY, ({ inventory }) => inventory],
  ["the client", CLIENT, (client) => client],
])("methods of %s", (_, calls, pick) => {
  it("work when they are detached", async () => {
    const object = pick(setUp().client);
    expect(Object.keys(calls).sort()).toEqual(methodsOf(object).sort());
    const detached: Record<string, unknown> = Object.fromEntries(
      Object.keys(calls).map((name) => [name, Reflect.get(object, name)]),
    );
    for (const [name, given] of Object.entries(calls)) {
      const method = detached[name];
      if (typeof method !== "function") throw new Error(`no method ${name}`);
      const result: unknown = method(...given);
      if (isPaginator(result)) await expect(result.page(), name).resolves.toBeDefined();
      else
        await expect(
          Promise.resolve(result).then(() => "done"),
          name,
        ).resolves.toBe("done");
    }
  });
});

it("a subclass can override methods, and a test can replace them", async () => {
  class Counting extends InventoryClient {
    requests = 0;
    override request: InventoryClient["request"] = (wanted, options) => super.request(wanted, options);
    override close(): Promise<void> {
      this.requests += 1;
      return super.close();
    }
  }
  const { options, client } = setUp();
  const counting = new Counting(options);
  const { close } = counting;
  await close();
  expect(counting.requests).toBe(1);
  vi.spyOn(client.items, "get").mockResolvedValue(Object.create(null));
  expect(await client.items.get("X")).toEqual({});
  vi.restoreAllMocks();
  await expect(client.items.get("X")).rejects.toMatchObject({ name: "NotFoundError" });
});
