import { createSandbox } from "stocklot/sandbox";
import { expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";

function setUp() {
  const { baseUrl, credentials, fetch } = createSandbox({
    items: [{ shortID: "BOLT", partNo: 7 }],
    aliases: { ALIAS: "BOLT" },
    rateLimit: false,
  });
  return new InventoryClient({ baseUrl, ...credentials, fetch });
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

/** Only the outbox calls them. */
const INTERNAL_METHODS = ["readLotsOfItem"];

const methodsOf = (object: object) => {
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)));
  const names = descriptors.filter(([, { get }]) => !get).map(([name]) => name);
  return names.filter((name) => name !== "constructor" && !INTERNAL_METHODS.includes(name));
};

it.each<[string, Record<string, unknown[]>, (client: InventoryClient) => object]>([
  ["items", ITEMS, ({ items }) => items],
  ["inventory", INVENTORY, ({ inventory }) => inventory],
  ["the client", CLIENT, (client) => client],
])("methods of %s work when they are detached", async (_, calls, pick) => {
  const object = pick(setUp());
  expect(Object.keys(calls).sort()).toEqual(methodsOf(object).sort());
  const detached = Object.keys(calls).map((name) => [name, Reflect.get(object, name)] as const);
  for (const [name, method] of detached) {
    const result: unknown = await method(...(calls[name] ?? []));
    if (name.startsWith("list") || name === "paginate") await (result as { page?(): Promise<unknown> }).page?.();
  }
});
