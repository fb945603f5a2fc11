import { describe, expect, it } from "vitest";
import { ConfigurationError, InputValidationError } from "../../src/index.js";
import { createOutbox, type OutboxEntry, type OutboxEntryInput, withoutMark } from "../../src/outbox/index.js";
import { createWorld, receipt } from "./support/world.js";

async function allOf(entries: AsyncIterable<OutboxEntry>): Promise<OutboxEntry[]> {
  const found = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

/** Passes any value, as a caller without types may. */
const untyped = (entry: unknown) => entry as OutboxEntryInput;

describe("add", () => {
  it("returns the stored entry", async () => {
    const outbox = createWorld().createOutbox();
    const entry = await outbox.add(receipt("a"));
    expect(entry).toEqual({
      key: "a",
      operation: "receive",
      input: { itemID: "BOLT", units: 50, wid: 3, reasonCode: 1 },
      state: "pending",
      addedAt: expect.any(Number),
      attempts: 0,
    });
    expect(await outbox.get("a")).toEqual(entry);
    expect(await outbox.get("b")).toBeUndefined();
  });

  it.each([
    ["again", { units: 50 }, { units: 50 }],
    ["in another order", { spot: "A", serial: "S" }, { serial: "S", spot: "A" }],
    ["without fields that are undefined", { spot: undefined }, {}],
    ["with a date as a string", { expires: new Date("2026-05-01") }, { expires: "2026-05-01T00:00:00.000Z" }],
  ])("changes nothing if the same input is added %s", async (_, one, other) => {
    const outbox = createWorld().createOutbox();
    const first = await outbox.add(receipt("a", one));
    expect(await outbox.add(receipt("a", other))).toEqual(first);
    await outbox.run();
    expect(await outbox.add(receipt("a", other))).toMatchObject({ state: "applied" });
    expect(await allOf(outbox.entries())).toHaveLength(1);
  });

  it.each([
    ["input", receipt("a", { units: 51 })],
    [
      "operation",
      { key: "a", operation: "issue", input: { itemID: "BOLT", units: 50, wid: 3, reasonCode: 1 } } as const,
    ],
  ])("rejects another %s with the same key", async (_, other) => {
    const outbox = createWorld().createOutbox();
    await outbox.add(receipt("a"));
    const error = await outbox.add(other).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InputValidationError);
    expect(error).toMatchObject({ issues: [{ path: ["key"], message: expect.stringContaining('"a"') }] });
    const many = await outbox.addMany([receipt("b"), other]).catch((error: unknown) => error);
    expect(many).toMatchObject({ issues: [{ path: [1, "key"] }] });
    expect(await allOf(outbox.entries())).toHaveLength(1);
  });

  it.each<[string, unknown, (string | number)[]]>([
    ["no key", { ...receipt("a"), key: undefined }, ["key"]],
    ["a key of 201 characters", receipt("k".repeat(201)), ["key"]],
    ["an unknown operation", { ...receipt("a"), operation: "recieve" }, ["operation"]],
    ["an unknown field", receipt("a", { unit: 5 }), ["input", "unit"]],
    ["nothing", undefined, []],
    ["a discontinue with more", { key: "a", operation: "discontinue", input: { shortID: "A", x: 1 } }, ["input", "x"]],
    ["a value without JSON", { key: "a", operation: "create", input: { shortID: "A", extra: 1n } }, ["input", "extra"]],
  ])("rejects %s, and stores nothing", async (_, entry, path) => {
    const outbox = createWorld().createOutbox();
    await expect(outbox.add(untyped(entry))).rejects.toMatchObject({
      name: "InputValidationError",
      issues: [{ path }],
    });
    await expect(outbox.addMany([receipt("b"), untyped(entry)])).rejects.toMatchObject({
      issues: [{ path: [1, ...path] }],
    });
    expect(await allOf(outbox.entries())).toEqual([]);
  });

  it("stores an input as it was checked: inherited fields, getters of a class, each read once", async () => {
    const outbox = createWorld().createOutbox();
    let reads = 0;
    class Receipt {
      itemID = "BOLT";
      wid = 3;
      get reasonCode() {
        return 1;
      }
      get serial() {
        return "S1";
      }
      get units() {
        reads += 1;
        return reads === 1 ? 1 : 999_999;
      }
    }
    const expected = { itemID: "BOLT", wid: 3, units: 1, reasonCode: 1, serial: "S1" };
    const entry = { key: "a", operation: "receive", input: new Receipt() } as const;
    expect((await outbox.add(entry)).input).toEqual(expected);
    expect((await outbox.add({ ...entry, key: "b", input: Object.create(expected) })).input).toEqual(expected);
  });

  it("copies its arguments and changes none", async () => {
    const outbox = createWorld().createOutbox();
    const input = Object.freeze({ itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 });
    const changing = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };
    const added = outbox.addMany([
      Object.freeze({ key: "a", operation: "receive" as const, input }),
      { key: "b", operation: "receive", input: changing },
    ]);
    changing.units = 99;
    expect(await added).toMatchObject([{ input: { units: 1 } }, { input: { units: 1 } }]);
  });

  it("refuses a serial if the outbox sets it", async () => {
    const outbox = createWorld().createOutbox({ mark: "serial" });
    await expect(outbox.add(receipt("a", { serial: "S" }))).rejects.toMatchObject({
      issues: [{ path: ["input", "serial"] }],
    });
    await outbox.add(receipt("b", { serial: " " }));
    await outbox.add({
      key: "c",
      operation: "issue",
      input: { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1, serial: "S" },
    });
  });
});

describe("entries", () => {
  it("of large calls come in the order of the calls, also if a call between them fails", async () => {
    const outbox = createWorld().createOutbox();
    const entriesOf = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => receipt(`${name}${index}`));
    const [first, wrong, last] = [
      outbox.addMany(entriesOf("a", 4_000)),
      outbox.addMany([receipt("b", { units: -1 }), ...entriesOf("b", 200)]),
      outbox.addMany(entriesOf("c", 101)),
    ];
    await expect(wrong).rejects.toBeInstanceOf(InputValidationError);
    await Promise.all([first, last]);
    const keys = (await allOf(outbox.entries())).map(({ key }) => key);
    expect([keys[0], keys[4_000], keys.length]).toEqual(["a0", "c0", 4_101]);
  });

  it("come in the order added, all or those in a state", async () => {
    const outbox = createWorld().createOutbox();
    const keys = Array.from({ length: 1_201 }, (_, index) => `k${index}`);
    await outbox.addMany(keys.map((key) => receipt(key)));
    expect((await allOf(outbox.entries())).map(({ key }) => key)).toEqual(keys);
    expect(await allOf(outbox.entries({ state: "applied" }))).toEqual([]);
    await expect(allOf(outbox.entries(Object({ state: "sent" })))).rejects.toMatchObject({
      issues: [{ path: ["state"] }],
    });
  });
});

it("a key that is known with another input has a code, so that a server can answer it with 409", async () => {
  const outbox = createWorld().createOutbox();
  await outbox.add(receipt("a"));
  const issue = { code: "key-conflict", path: ["key"] };
  await expect(outbox.add(receipt("a", { units: 99 }))).rejects.toMatchObject({ issues: [issue] });
  const many = outbox.addMany([receipt("b"), receipt("a", { units: 99 })]);
  await expect(many).rejects.toMatchObject({ issues: [{ ...issue, path: [1, "key"] }] });
  const wrong = await outbox.add(receipt("a", { units: -1 })).catch((error: unknown) => error);
  expect(wrong).toMatchObject({ issues: [expect.not.objectContaining({ code: expect.anything() })] });
});

describe("resolve", () => {
  it("makes a rejected entry pending again, or applied, and keeps what the service said", async () => {
    const outbox = createWorld().createOutbox();
    await outbox.addMany([receipt("a", { itemID: "NONE" }), receipt("b", { itemID: "NONE" })]);
    await outbox.run();
    expect(await outbox.get("a")).toMatchObject({ state: "rejected", error: { status: 400 } });
    const applied = await outbox.resolve("a", "applied");
    const resolved = { resolvedAt: expect.any(Number), resolvedFrom: "rejected", error: { status: 400 } };
    expect(applied).toMatchObject({ state: "applied", settledAt: expect.any(Number), ...resolved });
    expect(await outbox.get("a")).toEqual(applied);
    const pending = await outbox.resolve("b", "not-applied");
    expect(pending).toMatchObject({ state: "pending", ...resolved });
    expect(pending).not.toHaveProperty("settledAt");
    expect(await outbox.run()).toMatchObject({ rejected: 1 });
    expect(await outbox.get("b")).toMatchObject({ state: "rejected", ...resolved });
    const [replaced] = await outbox.addMany([receipt("b")], { replaceRejected: true });
    for (const name of ["resolvedAt", "resolvedFrom", "error"]) expect(replaced).not.toHaveProperty(name);
  });
});

describe("options", () => {
  const client = createWorld().createClient();
  const store = createWorld().store();

  it.each<[string, unknown, string]>([
    ["no store", { client }, "store: must be created by sqliteOutboxStore or postgresOutboxStore"],
    [
      "a store without methods",
      { client, store: {} },
      "store: must be created by sqliteOutboxStore or postgresOutboxStore",
    ],
    ["a misspelt option", { client, store, settlems: 1 }, 'settlems: unknown option, did you mean "settleMs"?'],
    ["no lease", { client, store, leaseMs: 0 }, "leaseMs: must be"],
    ["an unknown mark", { client, store, mark: "rfidTag" }, "mark: must be"],
  ])("are checked: %s", (_, options, message) => {
    expect(() => createOutbox(Object(options))).toThrow(ConfigurationError);
    expect(() => createOutbox(Object(options))).toThrow(message);
  });

  it("of run and watch are checked", async () => {
    const outbox = createOutbox({ client, store });
    await expect(outbox.run(Object({ concurency: 1 }))).rejects.toThrow('did you mean "concurrency"?');
    await expect(outbox.run({ concurrency: 0 })).rejects.toThrow("concurrency: Too small");
    await expect(outbox.watch(Object({}))).rejects.toThrow("everyMs: must be a number of ms");
  });
});

it.each([
  ["[sl:ABCDEFGHIJKLMNOP] 2 pallets", "2 pallets"],
  ["[sl:ABCDEFGHIJKLMNOP]", ""],
  ["2 pallets [sl:ABCDEFGHIJKLMNOP]", "2 pallets [sl:ABCDEFGHIJKLMNOP]"],
])("a remark without its mark: %s", (remark, without) => {
  expect(withoutMark(remark)).toBe(without);
});
