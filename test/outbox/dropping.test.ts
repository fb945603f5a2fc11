import { describe, expect, it } from "vitest";
import { ConfigurationError, InputValidationError } from "../../src/index.js";
import { createOutbox } from "../../src/outbox/index.js";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { createWorld, receipt } from "./support/world.js";

describe("cancel", () => {
  it("drops a pending and a rejected entry for good", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("rejected", { itemID: "NONE" }), receipt("first")]);
    await outbox.run();
    await outbox.add(receipt("pending"));
    for (const key of ["rejected", "pending"])
      expect(await outbox.cancel(key)).toMatchObject({ key, state: "canceled", settledAt: expect.any(Number) });
    expect(await outbox.cancel("pending")).toMatchObject({ state: "canceled" });
    expect(await outbox.run()).toMatchObject({ applied: 0, rejected: 0, pending: 0 });
    expect(await world.receivedLots()).toHaveLength(1);
    // The key stays known, and what was dropped can be pruned.
    expect(await outbox.add(receipt("pending"))).toMatchObject({ state: "canceled" });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await outbox.prune({ olderThanMs: 0 })).toBe(3);
  });

  it("lets the entries behind it go on", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    world.sandbox.addFault({ path: "/Inventory/*", times: 1, fault: { type: "html", status: 413 } });
    await outbox.addMany([receipt("a"), receipt("b")]);
    expect(await outbox.run()).toMatchObject({ applied: 0, pending: 2 });
    await outbox.cancel("a");
    expect(await outbox.run()).toMatchObject({ applied: 1, pending: 0 });
  });

  it.each(["applied", "sending", "unknown"] as const)("refuses an entry that is %s", async (state) => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    Object.assign(world.data.entries.get("a") ?? {}, { state });
    const error = await outbox.cancel("a").catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InputValidationError);
    expect(String(error)).toContain(`"a" is ${state}`);
  });

  it("refuses an update that may have been applied, and an unknown key", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add({ key: "u", operation: "update", input: { shortID: "BOLT", description: "x" } });
    Object.assign(world.data.entries.get("u") ?? {}, { sentAt: 1, attempts: 1 });
    await expect(outbox.cancel("u")).rejects.toThrow('"u" may have been applied');
    await expect(outbox.cancel("nothing")).rejects.toThrow('there is no entry "nothing"');
  });
});

describe("summary", () => {
  it("counts entries by state, and reports the age of the oldest that is not settled", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    const none = { pending: 0, sending: 0, applied: 0, rejected: 0, unknown: 0, canceled: 0, oldestUnsettledMs: null };
    expect(await outbox.summary()).toEqual(none);
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NONE" })]);
    await outbox.run();
    await outbox.addMany([receipt("c"), receipt("d")]);
    await outbox.cancel("d");
    const sent = world.sandbox.requests.length;
    const summary = await outbox.summary();
    const counts = { applied: 1, rejected: 1, pending: 1, canceled: 1 };
    expect(summary).toEqual({ ...none, ...counts, oldestUnsettledMs: expect.any(Number) });
    expect(world.sandbox.requests).toHaveLength(sent);
    Object.assign(world.data.entries.get("c") ?? {}, { addedAt: Date.now() - 60_000 });
    expect((await outbox.summary()).oldestUnsettledMs).toBeGreaterThanOrEqual(60_000);
  });
});

describe("entries", () => {
  it("of one item, however its SKU is written", async () => {
    const outbox = createWorld().createOutbox();
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" }), receipt("c", { itemID: " bolt" })]);
    const keys: string[] = [];
    for await (const { key } of outbox.entries({ item: "Bolt" })) keys.push(key);
    expect(keys).toEqual(["a", "c"]);
  });
});

describe("an outbox without a client", () => {
  it("can do everything but send and estimate", async () => {
    const outbox = createOutbox({ store: memoryStore() });
    await outbox.addMany([receipt("a"), receipt("b")]);
    await outbox.cancel("a");
    expect(await outbox.summary()).toMatchObject({ pending: 1, canceled: 1 });
    await expect(outbox.run()).rejects.toThrow("outbox.run: a client is required");
    await expect(outbox.watch({ everyMs: 1 })).rejects.toBeInstanceOf(ConfigurationError);
    await expect(outbox.estimate()).rejects.toBeInstanceOf(ConfigurationError);
    await outbox.close();
  });
});
