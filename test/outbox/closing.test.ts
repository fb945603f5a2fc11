import { beforeEach, describe, expect, it } from "vitest";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { inVirtualTime, useVirtualTime, wait } from "./support/virtual-time.js";
import { createWorld, isWrite, receipt } from "./support/world.js";

beforeEach(() => useVirtualTime());

const slowWrites = (world: ReturnType<typeof createWorld>) => {
  world.intercept = async (request, send) => {
    const response = await send();
    if (isWrite(request)) await wait(5_000);
    return response;
  };
};
const nameOf = (error: unknown) => Object(error).name;

describe("close during a run", () => {
  it("waits for the calls in flight, stores their outcomes, and ends the run with an AbortError", async () => {
    const world = createWorld();
    slowWrites(world);
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" }), receipt("c"), receipt("d")]);
    const run = outbox.run().catch((error: unknown) => error);
    const closed = wait(1_000).then(() => outbox.close());
    await inVirtualTime(closed);
    const error = await run;
    expect(error).toBeInstanceOf(DOMException);
    expect(nameOf(error)).toBe("AbortError");
    // A later call opens it again.
    expect(await outbox.summary()).toMatchObject({ applied: 2, pending: 2, sending: 0, unknown: 0 });
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 2 });
    expect(await world.receivedLots()).toHaveLength(4);
  });

  it("ends a watch, which resolves", async () => {
    const world = createWorld();
    slowWrites(world);
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    const errors: unknown[] = [];
    const watch = outbox.watch({ everyMs: 60_000, onError: (error) => errors.push(error) });
    await inVirtualTime(wait(1_000).then(() => outbox.close()));
    await inVirtualTime(watch);
    expect(errors).toEqual([]);
    const between = outbox.watch({ everyMs: 60_000 });
    await inVirtualTime(wait(30_000).then(() => outbox.close()));
    await inVirtualTime(between);
    expect(await outbox.get("a")).toMatchObject({ state: "applied" });
  });

  it("ends a run that has just begun", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    const run = outbox.run().catch(nameOf);
    await inVirtualTime(outbox.close());
    expect(await run).toBe("AbortError");
    expect(world.sandbox.requests).toEqual([]);
  });

  it("a watch whose store cannot be opened reports that, and tries again", async () => {
    const world = createWorld();
    const store = memoryStore(world.data);
    let failures = 2;
    const open = async () => {
      if (failures-- > 0) throw new Error("out of reach");
      return store.open();
    };
    const outbox = world.createOutbox({ store: { ...store, open } });
    const errors: unknown[] = [];
    const reports: unknown[] = [];
    const watch = outbox.watch({
      everyMs: 1_000,
      onError: (error) => errors.push(error),
      onReport: (report) => reports.push(report),
    });
    await inVirtualTime(wait(2_500).then(() => outbox.close()));
    await inVirtualTime(watch);
    expect(errors).toHaveLength(2);
    expect(reports).toHaveLength(1);
  });

  it("a call that begins meanwhile waits, and opens the store again", async () => {
    const world = createWorld();
    slowWrites(world);
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    const run = outbox.run().catch(nameOf);
    const closing = wait(1_000).then(() => Promise.all([outbox.close(), outbox.close(), outbox.add(receipt("b"))]));
    const [, , added] = await inVirtualTime(closing);
    expect(added).toMatchObject({ key: "b", state: "pending" });
    expect(await run).toBe("AbortError");
  });
});

it("the store is opened when it is needed, and closed as often as it was opened", async () => {
  const world = createWorld();
  const store = memoryStore(world.data);
  const commands: string[] = [];
  const open = () => {
    commands.push("open");
    return store.open();
  };
  const close = async () => void commands.push("close");
  const outbox = world.createOutbox({ store: { ...store, open, close } });
  await outbox.close();
  expect(commands).toEqual([]);
  await outbox.add(receipt("a"));
  await outbox.summary();
  await Promise.all([outbox.close(), outbox.close()]);
  await outbox.close();
  expect(commands).toEqual(["open", "close"]);
  await outbox.summary();
  await outbox.close();
  expect(commands).toEqual(["open", "close", "open", "close"]);
});
