import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/index.js";
import { createOutbox } from "../../src/outbox/index.js";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { createWorld, receipt } from "./support/world.js";

const OTHER = "https://other.example/api/v1";

describe("a store belongs to one service", () => {
  it.each<[string, (outbox: ReturnType<typeof createOutbox>) => Promise<unknown>]>([
    ["add", (outbox) => outbox.add(receipt("b"))],
    ["addMany", (outbox) => outbox.addMany([receipt("b")])],
    ["run", (outbox) => outbox.run()],
    ["resolve", (outbox) => outbox.resolve("a", "applied")],
    ["cancel", (outbox) => outbox.cancel("a")],
    ["prune", (outbox) => outbox.prune({ olderThanMs: 0 })],
  ])("a client of another one is refused: %s", async (method, call) => {
    const world = createWorld();
    await world.createOutbox().add(receipt("a"));
    const entries = structuredClone([...world.data.entries]);
    const error = await call(world.createOutbox({}, { baseUrl: OTHER })).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain(`outbox.${method}`);
    expect(String(error)).toContain(`"${world.sandbox.baseUrl}"`);
    expect(String(error)).toContain(`"${OTHER}"`);
    expect([...world.data.entries]).toEqual(entries);
    expect(world.sandbox.requests).toEqual([]);
  });

  it("anybody may read it", async () => {
    const world = createWorld();
    await world.createOutbox().add(receipt("a"));
    const outbox = world.createOutbox({}, { baseUrl: OTHER });
    expect(await outbox.get("a")).toMatchObject({ key: "a" });
    expect(await outbox.summary()).toMatchObject({ pending: 1 });
    expect((await outbox.entries().next()).value).toMatchObject({ key: "a" });
  });

  it("a trailing slash makes no other service, and nothing is recorded without a client", async () => {
    const world = createWorld();
    await createOutbox({ store: memoryStore(world.data) }).add(receipt("a"));
    expect(world.data.service).toBeUndefined();
    await world.createOutbox({}, { baseUrl: `${world.sandbox.baseUrl}/` }).add(receipt("b"));
    expect(await world.createOutbox().run()).toMatchObject({ applied: 2 });
  });

  it("is checked in each run: a client of the old address must not go on after the service has moved", async () => {
    const world = createWorld();
    const old = world.createOutbox();
    await old.run();
    await world.createOutbox({}, { serviceId: "acme" }).run();
    await world.createOutbox({}, { baseUrl: OTHER, serviceId: "acme" }).add(receipt("a"));
    await expect(old.run()).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("takes over the name of its service, which may then move", async () => {
    const world = createWorld();
    await world.createOutbox().add(receipt("a"));
    await world.createOutbox({}, { serviceId: "acme" }).add(receipt("b"));
    await world.createOutbox({}, { baseUrl: OTHER, serviceId: "acme" }).add(receipt("c"));
    await expect(world.createOutbox().add(receipt("d"))).rejects.toThrow(
      'create the client with the option serviceId: "acme"',
    );
    expect([...world.data.entries.keys()]).toEqual(["a", "b", "c"]);
  });
});
