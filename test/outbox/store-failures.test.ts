import { beforeEach, describe, expect, it } from "vitest";
import type { OutboxStore } from "../../src/outbox/index.js";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { inVirtualTime, useVirtualTime } from "./support/virtual-time.js";
import { connectionReset, createWorld, isWrite, receipt } from "./support/world.js";

beforeEach(() => useVirtualTime());

const METHODS = ["open", "add", "list", "count", "claim", "renew", "release", "next", "update"] as const;
type Method = (typeof METHODS)[number];

/** A store of which one call fails, before or after its effect. */
function failingOnce(store: OutboxStore, failing: Method, nth: number, when: "before" | "after"): OutboxStore {
  let calls = 0;
  return new Proxy(store, {
    get: (target, name, receiver) => {
      const method: unknown = Reflect.get(target, name, receiver);
      if (name !== failing || typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        calls += 1;
        if (calls !== nth) return method.apply(target, args);
        if (when === "after") await method.apply(target, args);
        throw new Error(`${failing} failed`);
      };
    },
  });
}

describe.each(["before", "after"] as const)("a store that fails %s the effect of", (when) => {
  const cases = METHODS.flatMap((method) => [1, 2, 3, 4, 5].map((nth): [Method, number] => [method, nth]));

  it.each(cases)("%s, call %d, loses and doubles nothing", async (method, nth) => {
    const world = createWorld();
    const outbox = world.createOutbox({
      store: failingOnce(memoryStore(world.data), method, nth, when),
      mark: "remark",
      settleMs: 60_000,
      leaseMs: 30_000,
    });
    // One response is lost, one request has to be repeated, one is refused.
    let writes = 0;
    world.intercept = async (request, send) => {
      if (!isWrite(request)) return send();
      writes += 1;
      if (writes === 1) {
        await send();
        throw connectionReset();
      }
      return writes === 2 ? Response.json({ message: "Rate Limit Exceeded." }, { status: 429 }) : send();
    };
    const entries = [receipt("a"), receipt("b"), receipt("c", { itemID: "NUT" }), receipt("d", { itemID: "NONE" })];
    const failures: unknown[] = [];
    for (let round = 0; round < 5; round += 1) {
      try {
        await outbox.addMany(entries);
        await inVirtualTime(outbox.run());
      } catch (error) {
        failures.push(error);
      }
    }
    expect(failures.length).toBeLessThanOrEqual(1);
    for (const failure of failures) expect(failure).toMatchObject({ message: `${method} failed` });
    const states = [...world.data.entries.values()].map(({ key, state }) => [key, state]);
    expect(states).toEqual([
      ["a", "applied"],
      ["b", "applied"],
      ["c", "applied"],
      ["d", "rejected"],
    ]);
    expect(await world.receivedLots()).toHaveLength(3);
  });
});

it("nothing is sent if the store cannot confirm that it is about to be sent", async () => {
  const world = createWorld();
  const store = memoryStore(world.data);
  let isDown = false;
  const update: OutboxStore["update"] = async (...args) => {
    if (args[2].state === "sending") isDown = true;
    if (isDown) throw new Error("the store is down");
    return store.update(...args);
  };
  const outbox = world.createOutbox({ store: { ...store, update } });
  await outbox.add(receipt("a"));
  await expect(inVirtualTime(outbox.run())).rejects.toThrow("the store is down");
  expect(world.requests("POST")).toEqual([]);
  expect(world.data.entries.get("a")).toMatchObject({ state: "pending", attempts: 0 });
});

it("an outcome is stored once the store works again", async () => {
  const world = createWorld();
  const store = memoryStore(world.data);
  const startedAt = performance.now();
  const update: OutboxStore["update"] = async (...args) => {
    if (args[2].state === "applied" && performance.now() - startedAt < 15_000) throw new Error("the store is down");
    return store.update(...args);
  };
  const outbox = world.createOutbox({ store: { ...store, update }, leaseMs: 30_000 });
  await outbox.add(receipt("a"));
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
  expect(await world.receivedLots()).toHaveLength(1);
});
