import { beforeEach, describe, expect, it } from "vitest";
import type { NewOutboxEntry, OutboxOptions } from "../../src/outbox/index.js";
import { inVirtualTime, useVirtualTime } from "./support/virtual-time.js";
import { connectionReset, createWorld, type Intercept, isWrite, receipt } from "./support/world.js";

beforeEach(() => useVirtualTime());

const SETTLE_MS = 60_000;
type World = ReturnType<typeof createWorld>;
type Fields = Record<string, unknown>;

/** The service applies the first write, or not, and its response is lost. `list` changes the records that are listed. */
const loseFirst = (isApplied: boolean, list: (record: Fields) => Fields = (record) => record): Intercept => {
  let writes = 0;
  return async (request, send) => {
    if (isWrite(request) && writes++ === 0) {
      if (isApplied) await send();
      throw connectionReset();
    }
    const response = await send();
    if (request.method !== "GET") return response;
    const body = Object(await response.json());
    const changed = Array.isArray(body.value) ? { ...body, value: body.value.map(list) } : list(body);
    return Response.json(changed, { status: response.status, headers: response.headers });
  };
};

const behind = (lagMs: number) => (record: Fields) => ({
  ...record,
  ...Object.fromEntries(
    ["received", "created"].flatMap((name) =>
      typeof record[name] === "string" ? [[name, new Date(Date.parse(record[name]) - lagMs).toISOString()]] : [],
    ),
  ),
});

async function run(world: World, entry: NewOutboxEntry, options: Partial<OutboxOptions> = {}) {
  const outbox = world.createOutbox({ settleMs: SETTLE_MS, ...options });
  await outbox.add(entry);
  await inVirtualTime(outbox.run());
  return { state: (await outbox.get(entry.key))?.state, lots: (await world.receivedLots()).length };
}

const FOREIGN = "[sl:K7Q2M5XW3ZP4TB6A]";

describe("text that looks like the mark of somebody else", () => {
  it.each<[string, Fields]>([
    ["in front of the remark", { remark: `${FOREIGN} returned` }],
    ["in the middle of the remark", { remark: `returned: ${FOREIGN}` }],
    ["in the serial", { serial2: "2", serial: FOREIGN }],
    ["cut off in front", { remark: FOREIGN.slice(4) }],
    ["cut off at the end", { remark: `returned: ${FOREIGN.slice(0, 12)}` }],
  ])("%s: the receipt is not resent", async (_, fields) => {
    const world = createWorld();
    world.intercept = loseFirst(true);
    // A serial of its own identifies the receipt, whatever its text is.
    expect(await run(world, receipt("a", fields))).toEqual({ state: fields.serial ? "applied" : "unknown", lots: 1 });
    const marked = createWorld();
    marked.intercept = loseFirst(true);
    expect(await run(marked, receipt("a", fields), { mark: "remark" })).toEqual({ state: "applied", lots: 1 });
  });

  it("that is the mark of another entry of this store, copied into the remark", async () => {
    const world = createWorld();
    await world.createOutbox({ mark: "remark" }).add(receipt("other"));
    await inVirtualTime(world.createOutbox({ mark: "remark" }).run());
    const [lot] = await world.receivedLots();
    world.intercept = loseFirst(true);
    const result = await run(world, receipt("a", { remark: lot?.remark }));
    expect(result).toEqual({ state: "unknown", lots: 2 });
  });

  it("does not make the lots of other entries of this store a reason to wait, if the service reports no numbers", async () => {
    const world = createWorld({ sandbox: { receiveForm: "empty" } });
    const outbox = world.createOutbox({ mark: "remark" });
    await outbox.add(receipt("other"));
    await inVirtualTime(outbox.run());
    world.intercept = loseFirst(false);
    expect(await run(world, receipt("a"), { mark: "remark" })).toEqual({ state: "applied", lots: 2 });
  });
});

describe("dates of records that are behind the Date header", () => {
  it.each([2_000, 30_000])("by %i ms: a receipt without a mark is not resent", async (lagMs) => {
    const world = createWorld();
    world.intercept = loseFirst(true, behind(lagMs));
    expect(await run(world, receipt("a"))).toEqual({ state: "unknown", lots: 1 });
  });

  it.each([2_000, 30_000])("by %i ms: nor one whose mark the service does not store", async (lagMs) => {
    const world = createWorld();
    world.intercept = loseFirst(true, (record) => ({ ...behind(lagMs)(record), remark: "" }));
    expect(await run(world, receipt("a"), { mark: "remark" })).toEqual({ state: "unknown", lots: 1 });
  });

  it.each([2_000, 30_000])("by %i ms: a mark is found behind a page of lots", async (lagMs) => {
    const world = createWorld();
    let lots = 0;
    const lost = loseFirst(true, behind(lagMs));
    world.intercept = async (request, send) => {
      const client = world.createClient({ fetch: world.sandbox.fetch });
      const input = { itemID: "NUT", units: 1, wid: 3, reasonCode: 1 };
      if (request.method === "GET" && lots === 0) for (; lots < 300; lots += 1) await client.inventory.receive(input);
      return lost(request, send);
    };
    expect(await run(world, receipt("a"), { mark: "remark" })).toEqual({ state: "applied", lots: 301 });
  });

  it("by more than a minute: the lag of an earlier receipt is taken into account", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("earlier"));
    // The first response shows the clock of the service.
    await world.createClient().items.list().page();
    const client = world.createClient();
    await client.items.list().page();
    await inVirtualTime(world.createOutbox({ client }).run());
    expect(world.data.entries.get("earlier")).toMatchObject({ clockAheadMs: expect.any(Number) });
    world.intercept = loseFirst(true, behind(300_000));
    expect(await run(world, receipt("a"), { client })).toEqual({ state: "unknown", lots: 2 });
  });

  it("a serial identifies only a lot that was received since: somebody may have booked the same batch just before", async () => {
    const world = createWorld();
    world.intercept = loseFirst(true, behind(30_000));
    expect(await run(world, receipt("a", { serial: "S-1" }))).toEqual({ state: "unknown", lots: 1 });
    const exact = createWorld();
    exact.intercept = loseFirst(true);
    expect(await run(exact, receipt("a", { serial: "S-1" }))).toEqual({ state: "applied", lots: 1 });
  });

  it("by more than a minute: the lag of a receipt of another item is taken into account", async () => {
    const world = createWorld();
    const client = world.createClient();
    await client.items.list().page();
    const outbox = world.createOutbox({ client });
    await outbox.add(receipt("earlier", { itemID: "NUT" }));
    await inVirtualTime(outbox.run());
    world.intercept = loseFirst(true, behind(300_000));
    expect(await run(world, receipt("a"), { client })).toEqual({ state: "unknown", lots: 2 });
  });

  it("a create does not end as rejected", async () => {
    const world = createWorld();
    world.intercept = loseFirst(true, behind(2_000));
    const entry: NewOutboxEntry = { key: "a", operation: "create", input: { shortID: "NEW" } };
    expect((await run(world, entry)).state).toBe("unknown");
  });
});

describe("a foreign lot with the same serial", () => {
  const foreign = { itemID: "BOLT", units: 5, wid: 3, reasonCode: 1, serial: "B-7" };
  it.each<[string, Fields]>([
    ["of another item", { itemID: "NUT" }],
    ["in another warehouse", { wid: 1 }],
    ["of more units", { units: 99 }],
  ])("%s proves nothing: a person decides", async (_, fields) => {
    const world = createWorld();
    const lost = loseFirst(false);
    let others = 0;
    world.intercept = async (request, send) => {
      const client = world.createClient({ fetch: world.sandbox.fetch });
      if (request.method === "GET" && others++ === 0) await client.inventory.receive({ ...foreign, ...fields });
      return lost(request, send);
    };
    const result = await run(world, receipt("a", { units: 5, serial: "B-7" }));
    expect(result).toEqual({ state: "unknown", lots: 1 });
  });
});

it("lots that are searched through may be invalid in fields that the search does not use", async () => {
  const world = createWorld();
  world.intercept = loseFirst(true, (record) => ({ ...record, remark: null, hold: "no", jobID: "none" }));
  expect(await run(world, receipt("a", { rfidTag: "T-1" }))).toEqual({ state: "applied", lots: 1 });
});

describe("an update or discontinue that is refused after an attempt with unknown outcome", () => {
  const update: NewOutboxEntry = { key: "a", operation: "update", input: { shortID: "BOLT", description: "new" } };
  const discontinue: NewOutboxEntry = { key: "a", operation: "discontinue", input: { shortID: "BOLT" } };
  const refused = (status: number, message: string) =>
    Response.json({ statusCode: status, error: "refused", message }, { status });

  /** The first attempt gets no response, and later ones this one. */
  const refuseLater = (isApplied: boolean, respond: () => Response): Intercept => {
    let writes = 0;
    return async (request, send) => {
      if (!isWrite(request)) return send();
      if (writes++ > 0) return respond();
      if (isApplied) await send();
      throw connectionReset();
    };
  };

  it.each([
    [404, "Item BOLT was not found."],
    [409, "Conflict."],
    [400, "Item is already discontinued."],
    [403, "Insufficient permissions."],
  ])("with %i: it was applied", async (status, message) => {
    for (const entry of [update, discontinue]) {
      const world = createWorld();
      world.intercept = refuseLater(true, () => refused(status, message));
      expect((await run(world, entry)).state).toBe("applied");
    }
  });

  it("it was not applied: rejected, once the first attempt has settled", async () => {
    const items = [{ shortID: "BOLT", created: "2020-01-01T00:00:00Z", modified: "2020-01-01T00:00:00Z" }];
    for (const entry of [update, discontinue]) {
      const world = createWorld({ sandbox: { items, lots: [] } });
      world.intercept = refuseLater(false, () => refused(409, "Conflict."));
      const startedAt = performance.now();
      expect((await run(world, entry)).state).toBe("rejected");
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SETTLE_MS);
    }
  });

  it("no such item: an update is rejected, a discontinue is unknown, since the service may hide the item", async () => {
    for (const [entry, state] of [
      [{ ...update, input: { shortID: "NONE", description: "x" } }, "rejected"],
      [{ ...discontinue, input: { shortID: "NONE" } }, "unknown"],
    ] as const) {
      const world = createWorld();
      world.intercept = refuseLater(false, () => refused(404, "Item NONE was not found."));
      expect((await run(world, entry)).state).toBe(state);
    }
  });

  it("an item that differs, and was modified since, is left to a person", async () => {
    const world = createWorld();
    const refuse = refuseLater(true, () => refused(409, "Conflict."));
    world.intercept = async (request, send) => {
      const response = await refuse(request, send);
      if (request.method !== "GET") return response;
      return Response.json({ ...Object(await response.json()), description: "NEW" }, { headers: response.headers });
    };
    expect((await run(world, update)).state).toBe("unknown");
  });
});
