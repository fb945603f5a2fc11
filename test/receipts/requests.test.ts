import { OutcomeUnknownError } from "stocklot";
import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
import { expect, it } from "vitest";
import { ownFolder } from "../support/own-folder.js";
import { createRandom } from "../support/random.js";
import { LotWorld } from "./lot-world.js";
import { RECEIVED_ITEMS, randomWorld } from "./random-world.js";

const file = ownFolder();

/** Creates an orderly service with 20 000 lots, and records the requests that it receives. */
function largeWorld(): { world: LotWorld; requests: URL[]; fetch: LotWorld["fetch"] } {
  const random = createRandom(8);
  const { form } = randomWorld(random, { isOrderly: true, lots: 0 });
  const others = Array.from({ length: 4_000 }, (_, index) => `SKU-${(index * 7_919) % 9_973}-${index}`);
  const world = new LotWorld({ ...form, pageSize: 250, meanwhile: () => {} }, [...RECEIVED_ITEMS, ...others], random);
  world.fill(20_000);
  const requests: URL[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(String(input));
    if (init?.method !== "POST") requests.push(url);
    return world.fetch(input, init);
  };
  return { world, requests, fetch };
}

it("look-ups that are due together share their views, and cost at most eight requests each", async () => {
  const { world, requests, fetch } = largeWorld();
  const { inventory } = world.client({ fetch });
  await inventory.listLots().page();
  const errors: OutcomeUnknownError[] = [];
  for (const [index, itemID] of RECEIVED_ITEMS.entries()) {
    world.fate = ["lost"];
    const input = { itemID, units: 1, wid: 1, reasonCode: 1, remark: `delivery ${index}` };
    const error = await inventory.receive(input).catch((thrown: unknown) => thrown);
    if (!(error instanceof OutcomeUnknownError)) throw error;
    expect(error.request.lastRecNo).toBe(world.lastRecNo);
    errors.push(error);
  }
  requests.length = 0;
  const found = await Promise.all(errors.map((error) => inventory.findReceipt(error, { settleMs: 0 })));
  expect(found.map(({ outcome }) => outcome)).toEqual(found.map(() => "not-applied"));
  const recent = requests.filter(
    ({ pathname, searchParams }) => pathname.endsWith("/Inventory") && !searchParams.has("sort"),
  );
  // The pages of the first reading, the pages that end the look-ups, and the page that proves the order by part number.
  expect(recent.length).toBeLessThanOrEqual(6);
  expect(requests.length / errors.length).toBeLessThanOrEqual(8);
});

it("an outbox reads the last number once before its receipts, and keeps it with each", async () => {
  const { world, requests, fetch } = largeWorld();
  const client = world.client({ fetch, timeoutMs: 2_000 });
  const store = sqliteOutboxStore({ path: file("numbers.db") });
  const outbox = createOutbox({ client, store, settleMs: 2_000 });
  const keys = RECEIVED_ITEMS.map((_, index) => `k${index}`);
  for (const [index, key] of keys.entries())
    await outbox.add({
      key,
      operation: "receive",
      input: { itemID: RECEIVED_ITEMS[index] ?? "", units: 1, wid: 1, reasonCode: 1 },
    });
  world.fate = keys.map((_, index) => (index % 3 === 0 ? "applied and lost" : index % 3 === 1 ? "lost" : "answered"));
  expect(await outbox.run()).toMatchObject({ applied: keys.length, unknown: 0 });
  expect([...world.booked.values()]).toEqual(keys.map(() => 1));
  const [first] = requests;
  expect(first?.searchParams.get("sort")).toBe("recNo");
  const lost = keys.filter((_, index) => index % 3 !== 2).length;
  expect(requests.length / lost).toBeLessThanOrEqual(8);
  await outbox.close();
});
