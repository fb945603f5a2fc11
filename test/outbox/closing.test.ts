import { beforeEach, describe, expect, it } from "vitest";
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
