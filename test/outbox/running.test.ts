import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  AuthenticationError,
  ClientClosedError,
  ConnectionError,
  InputValidationError,
  NotFoundError,
  PermissionError,
  RateLimitError,
} from "../../src/index.js";
import type { NewOutboxEntry, OutboxEntry } from "../../src/outbox/index.js";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { collectGarbage } from "../support/garbage.js";
import { RUN_ALL } from "../support/runs.js";
import { inVirtualTime, useVirtualTime, wait } from "./support/virtual-time.js";
import { connectionReset, createWorld, isList, isWrite, receipt } from "./support/world.js";

// The real one.
const { setImmediate: startImmediate } = globalThis;

beforeEach(() => useVirtualTime());

const states = async (outbox: { entries(): AsyncIterable<OutboxEntry> }) => {
  const found: Record<string, string> = {};
  for await (const { key, state } of outbox.entries()) found[key] = state;
  return found;
};

/** Each write takes a second. Records how many are in flight at once, and the order of their keys. */
function watchWrites(world: ReturnType<typeof createWorld>) {
  const seen = { order: [] as string[], inFlight: 0, most: 0 };
  world.intercept = async (request, send) => {
    if (!isWrite(request)) return send();
    const { reference } = Object(await request.clone().json());
    seen.order.push(`start ${reference}`);
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    await wait(1_000);
    const response = await send();
    seen.inFlight -= 1;
    seen.order.push(`end ${reference}`);
    return response;
  };
  return seen;
}

describe("order", () => {
  it("is that of adding for one item, however it is written, one at a time", async () => {
    const world = createWorld();
    const seen = watchWrites(world);
    const outbox = world.createOutbox();
    const skus = ["BOLT", " bolt", "Bolt "];
    await outbox.addMany(skus.map((itemID, index) => receipt(`k${index}`, { itemID, reference: `${index}` })));
    await inVirtualTime(outbox.run());
    expect(seen.order).toEqual(["start 0", "end 0", "start 1", "end 1", "start 2", "end 2"]);
  });

  it("the store is asked once whose it is, however many entries are added", async () => {
    const world = createWorld();
    const store = memoryStore(world.data);
    const claimService = vi.spyOn(store, "claimService");
    const outbox = world.createOutbox({ store });
    for (const key of ["a", "b", "c"]) await outbox.add(receipt(key));
    expect(claimService).toHaveBeenCalledOnce();
  });

  it("the report contains how long the run took", async () => {
    const world = createWorld();
    watchWrites(world);
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b")]);
    await inVirtualTime(wait(60_000));
    const { durationMs } = await inVirtualTime(outbox.run());
    expect(durationMs).toBeGreaterThanOrEqual(2_000);
    expect(durationMs).toBeLessThan(10_000);
  });

  it("is free between items, up to `concurrency`", async () => {
    const world = createWorld({ sandbox: { items: 20 } });
    const seen = watchWrites(world);
    const outbox = world.createOutbox();
    const skus = (await world.createClient().items.list().toArray()).map(({ shortID }) => shortID);
    await outbox.addMany(skus.map((itemID) => receipt(itemID, { itemID, reference: itemID })));
    await inVirtualTime(outbox.run());
    expect(seen.most).toBe(4);
    await outbox.addMany(skus.map((itemID) => receipt(`${itemID} again`, { itemID, reference: itemID })));
    seen.most = 0;
    await inVirtualTime(outbox.run({ concurrency: 7 }));
    expect(seen.most).toBe(7);
  });

  it("is never beyond `concurrency`, also if outcomes are found while the store leases further items", async () => {
    const world = createWorld({ sandbox: { items: 40 } });
    const store = memoryStore(world.data);
    const { claim } = store;
    store.claim = async (options) => {
      await wait(20_000);
      return claim(options);
    };
    const outbox = world.createOutbox({ store, leaseMs: 600_000 }, { timeoutMs: 600_000 });
    const skus = (await world.createClient().items.list().toArray()).map(({ shortID }) => shortID);
    await outbox.addMany(skus.map((itemID) => receipt(itemID, { itemID, reference: itemID })));
    const lost = new Set<string>();
    const seen = { inFlight: 0, most: 0 };
    world.intercept = async (request, send) => {
      if (!isWrite(request)) return send();
      const { reference } = Object(await request.clone().json());
      seen.inFlight += 1;
      seen.most = Math.max(seen.most, seen.inFlight);
      await wait(30_000);
      seen.inFlight -= 1;
      if (lost.has(reference)) return send();
      lost.add(reference);
      // Lost on the way: it is looked up, and resent.
      throw connectionReset();
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: skus.length, unknown: 0, pending: 0 });
    expect(lost.size).toBe(skus.length);
    expect(seen.most).toBe(4);
  });

  it("has an end while responses are lost: the run sends nothing while 100 items wait for an outcome", async () => {
    const world = createWorld({ sandbox: { items: 120 } });
    const outbox = world.createOutbox();
    const skus = (await world.createClient().items.list().toArray()).map(({ shortID }) => shortID);
    await outbox.addMany(skus.map((itemID) => receipt(itemID, { itemID })));
    let sentBeforeFirstOutcome: number | undefined;
    world.intercept = async (request, send) => {
      const response = await send();
      if (isWrite(request)) throw connectionReset();
      if (!isList(request)) return response;
      await wait(10_000);
      sentBeforeFirstOutcome ??= world.requests("POST").length;
      return response;
    };
    await inVirtualTime(outbox.run({ concurrency: 1 }));
    expect(sentBeforeFirstOutcome).toBe(100);
    expect(world.requests("POST")).toHaveLength(skus.length);
  });

  it("holds back what is behind an unknown entry, until that is resolved", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    const issue: NewOutboxEntry = {
      key: "a",
      operation: "issue",
      input: { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 },
    };
    await outbox.addMany([issue, receipt("b"), receipt("c"), receipt("d", { itemID: "NUT" })]);
    world.sandbox.addFault({ path: "/Inventory/Issue", times: 1, fault: "drop-after" });
    const held = { applied: 1, rejected: 0, unknown: 1, pending: 0, heldBack: 2 };
    expect(await inVirtualTime(outbox.run())).toMatchObject(held);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ ...held, applied: 0, requests: 0 });
    expect(await outbox.estimate()).toMatchObject({ entries: 0 });
    await outbox.resolve("a", "applied");
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 2, unknown: 0, heldBack: 0 });
  });

  it("ends while an entry whose attempt a killed process began is behind an unknown one", async () => {
    const world = createWorld();
    const store = memoryStore(world.data);
    const outbox = world.createOutbox({ store });
    await outbox.addMany([receipt("a"), receipt("b")]);
    const condition = { state: "pending" as const, attempts: 0 };
    await store.update("a", condition, { state: "unknown", attempts: 1 });
    const body = JSON.stringify(receipt("b").input);
    await store.update("b", condition, { state: "sending", attempts: 1, body, sentAt: Date.now() });
    expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1, pending: 0, heldBack: 1, requests: 0 });
    expect(await outbox.estimate()).toMatchObject({ entries: 0 });
    await outbox.resolve("a", "applied");
    expect(await inVirtualTime(outbox.run())).toMatchObject({ pending: 0, heldBack: 0 });
    expect(await store.get("b")).not.toMatchObject({ state: "sending" });
  });

  it("goes on after a rejected entry", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a", { wid: 99 }), receipt("b")]);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, rejected: 1 });
    expect(await outbox.get("a")).toMatchObject({
      state: "rejected",
      settledAt: expect.any(Number),
      error: { name: "PermissionError", status: 403, reason: "warehouse-out-of-scope" },
    });
  });
});

it("an input that the method refuses, since it was stored by another version, is rejected", async () => {
  const world = createWorld();
  const outbox = world.createOutbox();
  await outbox.addMany([receipt("a"), receipt("b")]);
  Object.assign(world.data.entries.get("a") ?? {}, { input: JSON.stringify({ itemID: "BOLT" }) });
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, rejected: 1 });
  expect(await outbox.get("a")).toMatchObject({ state: "rejected", error: { name: "InputValidationError" } });
});

it("a run keeps nothing of the entries that it has sent", async () => {
  const world = createWorld();
  const client = world.createClient();
  const signals: WeakRef<AbortSignal>[] = [];
  const receive = client.inventory.receive.bind(client.inventory);
  Object.assign(client.inventory, {
    receive: (...[input, options]: Parameters<typeof receive>) => {
      if (options?.signal) signals.push(new WeakRef(options.signal));
      return receive(input, options);
    },
  });
  const outbox = world.createOutbox({ client });
  await outbox.addMany(Array.from({ length: 50 }, (_, index) => receipt(`k${index}`)));
  let left: number | undefined;
  world.intercept = async (request, send) => {
    if (isWrite(request) && signals.length === 50) left = await aliveOf(signals);
    return send();
  };
  await inVirtualTime(outbox.run());
  expect(left).toBeLessThan(5);
});

/** How many of the objects are alive after the garbage was collected. */
async function aliveOf(references: readonly WeakRef<WeakKey>[]): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    await new Promise((resolve) => startImmediate(resolve));
    collectGarbage();
  }
  return references.filter((reference) => reference.deref()).length;
}

describe("several runs", () => {
  it("at once share the work", async () => {
    const world = createWorld({ sandbox: { items: 50 } });
    const skus = (await world.createClient().items.list().toArray()).map(({ shortID }) => shortID);
    const outboxes = [world.createOutbox(), world.createOutbox(), world.createOutbox()];
    const entries = skus.flatMap((itemID) => [1, 2].map((units) => receipt(`${itemID} ${units}`, { itemID, units })));
    await outboxes[0]?.addMany(entries);
    const seen = watchWrites(world);
    const reports = await inVirtualTime(Promise.all(outboxes.map((outbox) => outbox.run())));
    expect(reports.map(({ applied }) => applied).reduce((sum, applied) => sum + applied)).toBe(entries.length);
    for (const report of reports) expect(report.applied).toBeGreaterThan(10);
    expect(seen.most).toBe(12);
    expect(await world.receivedLots()).toHaveLength(entries.length);
  });

  it("of many entries apply each once", async () => {
    const count = RUN_ALL ? 1_000 : 100;
    const world = createWorld();
    const outbox = world.createOutbox();
    const skus = ["BOLT", "NUT", "WASHER"];
    await outbox.addMany(
      Array.from({ length: count }, (_, index) => receipt(`k${index}`, { itemID: skus[index % 3] })),
    );
    const results = new Set<string>();
    const report = await inVirtualTime(outbox.run({ onResult: ({ key }) => results.add(key) }));
    expect(report).toMatchObject({ applied: count, requests: count, pending: 0 });
    expect(results.size).toBe(count);
    expect(await world.receivedLots()).toHaveLength(count);
  });

  it("take over what a silent process has claimed", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ leaseMs: 30_000 });
    await outbox.add(receipt("a"));
    // Claimed, then nothing more.
    world.data.lanes.set("bolt", { owner: "other", leasedUntil: performance.now() + 30_000 });
    const startedAt = performance.now();
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(30_000);
    expect(performance.now() - startedAt).toBeLessThan(35_000);
  });

  it("keep the lease of a call that lasts", async () => {
    const world = createWorld();
    const [one, other] = [world.createOutbox({ leaseMs: 2_000 }), world.createOutbox({ leaseMs: 2_000 })];
    await one?.add(receipt("a"));
    world.intercept = async (request, send) => {
      if (isWrite(request)) await wait(20_000);
      return send();
    };
    const reports = await inVirtualTime(Promise.all([one?.run(), other?.run()]));
    expect(reports.map((report) => report?.applied)).toEqual([1, 0]);
    expect(await world.receivedLots()).toHaveLength(1);
  });
});

describe("a failure that concerns all entries ends the run, and leaves them pending", () => {
  const entries = Array.from({ length: 20 }, (_, index) =>
    receipt(`k${index}`, { itemID: index % 2 ? "BOLT" : "NUT" }),
  );

  it.each<[string, (world: ReturnType<typeof createWorld>) => void, new (...args: never[]) => unknown]>([
    ["refused credentials", ({ sandbox }) => sandbox.addFault({ path: "/Token", fault: 401 }), AuthenticationError],
    [
      "a token that is never valid",
      ({ sandbox }) => sandbox.addFault({ path: "/Inventory/*", fault: 401 }),
      AuthenticationError,
    ],
    [
      "a read-only account",
      ({ sandbox }) =>
        sandbox.addFault({
          path: "/Inventory/*",
          fault: {
            type: "status",
            status: 403,
            body: { statusCode: 403, error: "forbidden", message: "Account is read-only." },
          },
        }),
      PermissionError,
    ],
    ["429 without end", ({ sandbox }) => sandbox.addFault({ path: "/Inventory/*", fault: 429 }), RateLimitError],
    [
      "no connection",
      (world) => {
        world.intercept = async () => {
          throw new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
        };
      },
      ConnectionError,
    ],
  ])("%s", async (_, prepare, ErrorClass) => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany(entries);
    prepare(world);
    const error = await inVirtualTime(outbox.run()).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ErrorClass);
    expect(Object.values(await states(outbox))).toEqual(entries.map(() => "pending"));
    world.sandbox.clearFaults();
    world.intercept = (_, send) => send();
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 20 });
    expect(await world.receivedLots()).toHaveLength(20);
  });

  it("a closed client", async () => {
    const world = createWorld();
    const client = world.createClient();
    const outbox = world.createOutbox({ client });
    await outbox.add(receipt("a"));
    await client.close();
    await expect(inVirtualTime(outbox.run())).rejects.toBeInstanceOf(ClientClosedError);
    expect(await outbox.get("a")).toMatchObject({ state: "pending" });
  });

  it("calls in flight finish, and errors are objects of their own", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" })]);
    world.intercept = async (request, send) => {
      if (!isWrite(request)) return send();
      const isBolt = (await request.clone().text()).includes("BOLT");
      const readOnly = { statusCode: 403, error: "forbidden", message: "Account is read-only." };
      if (!isBolt) return Response.json(readOnly, { status: 403 });
      await wait(5_000);
      return send();
    };
    const error = await inVirtualTime(outbox.run()).catch((error: unknown) => error);
    const again = await inVirtualTime(outbox.run()).catch((error: unknown) => error);
    expect(error).toMatchObject({ status: 403, reason: "read-only" });
    expect(again).not.toBe(error);
    expect(await states(outbox)).toEqual({ a: "applied", b: "pending" });
    expect(await outbox.get("b")).toMatchObject({ error: { status: 403 } });
  });
});

describe("a signal", () => {
  it("ends the run after the requests in flight, with its reason", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    const seen = watchWrites(world);
    await outbox.addMany(["a", "b", "c"].map((key) => receipt(key, { reference: key })));
    const controller = new AbortController();
    const run = outbox.run({ signal: controller.signal });
    setTimeout(() => controller.abort("stop"), 1_500);
    await expect(inVirtualTime(run)).rejects.toBe("stop");
    expect(seen.order).toEqual(["start a", "end a", "start b", "end b"]);
    expect(await states(outbox)).toEqual({ a: "applied", b: "applied", c: "pending" });
    await expect(inVirtualTime(outbox.run({ signal: controller.signal }))).rejects.toBe("stop");
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
  });

  const notFound = { status: 404, code: "not_found", message: "none", method: "GET", path: "/Item" };
  it.each([
    new InputValidationError("the caller's own", []),
    new NotFoundError({ ...notFound, headers: {}, attempts: 1 }),
  ])("says nothing about an entry that waits to be sent, even if its reason is a %s", async (reason) => {
    const world = createWorld();
    const outbox = world.createOutbox({}, { retry: { rateLimitDelayMs: [60_000, 60_000] } });
    await outbox.add(receipt("a"));
    world.sandbox.addFault({ path: "/Inventory/*", fault: 429 });
    const controller = new AbortController();
    const run = outbox.run({ signal: controller.signal });
    setTimeout(() => controller.abort(reason), 10_000);
    await expect(inVirtualTime(run)).rejects.toBe(reason);
    const entry = await outbox.get("a");
    expect(entry?.state).toBe("pending");
    expect(entry).not.toHaveProperty("error");
  });

  it("is why the run ends, even if a request in flight fails for all then", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({}, { retry: false });
    await outbox.add(receipt("a"));
    const controller = new AbortController();
    world.intercept = async (request, send) => {
      if (!isWrite(request)) return send();
      controller.abort("stop");
      await wait(1_000);
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
    };
    await expect(inVirtualTime(outbox.run({ signal: controller.signal }))).rejects.toBe("stop");
    expect(await outbox.get("a")).toMatchObject({ state: "pending", error: { name: "ConnectionError" } });
  });

  it("keeps no listener of a run that has ended", async () => {
    const outbox = createWorld().createOutbox();
    const { signal } = new AbortController();
    for (let round = 0; round < 3; round += 1) await inVirtualTime(outbox.run({ signal }));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("ends waiting at once: for a slot, for the end of a pause, and for the settling of a request", async () => {
    for (const fault of [429, "drop"] as const) {
      const world = createWorld();
      const outbox = world.createOutbox({ settleMs: 60_000 }, { retry: { rateLimitDelayMs: [60_000, 60_000] } });
      await outbox.add(receipt("a"));
      world.sandbox.addFault({ path: "/Inventory/*", fault });
      const controller = new AbortController();
      const run = outbox.run({ signal: controller.signal });
      setTimeout(() => controller.abort("stop"), 10_000);
      const startedAt = performance.now();
      await expect(inVirtualTime(run)).rejects.toBe("stop");
      expect(performance.now() - startedAt).toBeLessThan(10_100);
      expect(await outbox.get("a")).toMatchObject({ state: fault === 429 ? "pending" : "sending" });
    }
  });
});

describe("callbacks", () => {
  it("report each result after it was stored, and the progress", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NONE" }), receipt("c")]);
    const stored: unknown[] = [];
    const progress: unknown[] = [];
    const published: unknown[] = [];
    const listener = (message: unknown) => void published.push(message);
    subscribe("stocklot:outbox:progress", listener);
    onTestFinished(() => void unsubscribe("stocklot:outbox:progress", listener));
    await inVirtualTime(
      outbox.run({
        concurrency: 1,
        onResult: ({ key, state }) => stored.push([key, state, world.data.entries.get(key)?.state]),
        onProgress: (report) => progress.push(report),
      }),
    );
    expect(stored).toEqual([
      ["a", "applied", "applied"],
      ["c", "applied", "applied"],
      ["b", "rejected", "rejected"],
    ]);
    expect(progress).toEqual([
      { applied: 1, rejected: 0, unknown: 0, pending: 2, requests: 1, etaMs: expect.any(Number) },
      { applied: 2, rejected: 0, unknown: 0, pending: 1, requests: 2, etaMs: expect.any(Number) },
      { applied: 2, rejected: 1, unknown: 0, pending: 0, requests: 3, etaMs: 0 },
    ]);
    expect(published.at(-1)).toEqual({ applied: 2, rejected: 1, unknown: 0, pending: 0 });
  });

  it("estimate the time that is left by the pace of the run, whenever it began", async () => {
    const world = createWorld();
    watchWrites(world);
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b"), receipt("c")]);
    await inVirtualTime(wait(60_000));
    const etas: number[] = [];
    await inVirtualTime(outbox.run({ onProgress: ({ etaMs }) => etas.push(etaMs) }));
    expect(etas).toEqual([2_000, 1_000, 0]);
  });

  it("count what was added while the run waited for another process", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    world.data.lanes.set("bolt", { owner: "other", leasedUntil: performance.now() + 30_000 });
    const pending: number[] = [];
    const run = outbox.run({ onProgress: (progress) => pending.push(progress.pending) });
    await inVirtualTime(wait(10_000));
    await outbox.addMany([receipt("b"), receipt("c")]);
    await inVirtualTime(run);
    expect(pending).toEqual([2, 1, 0]);
  });

  it("that throw or reject change nothing", async () => {
    const outbox = createWorld().createOutbox();
    await outbox.addMany([receipt("a"), receipt("b")]);
    const fail = () => {
      throw new Error("callback");
    };
    const report = await inVirtualTime(
      outbox.run({ onResult: fail, onProgress: () => Promise.reject(new Error("callback")) }),
    );
    expect(report).toMatchObject({ applied: 2 });
  });
});

describe("watch", () => {
  it("sends what is added meanwhile, until the signal aborts", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    const controller = new AbortController();
    const reports: number[] = [];
    const watch = outbox.watch({
      everyMs: 10_000,
      signal: controller.signal,
      onReport: ({ applied }) => void reports.push(applied),
    });
    setTimeout(() => void outbox.add(receipt("a")), 5_000);
    setTimeout(() => controller.abort(), 25_000);
    await inVirtualTime(watch);
    expect(reports).toEqual([0, 1, 0]);
  });

  it("goes on after errors if they are handled", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    world.sandbox.addFault({ path: "/Token", times: 1, fault: 401 });
    const controller = new AbortController();
    const errors: unknown[] = [];
    const watch = outbox.watch({
      everyMs: 10_000,
      signal: controller.signal,
      onError: (error) => void errors.push(error),
      onReport: () => controller.abort(),
    });
    await inVirtualTime(watch);
    expect(errors).toEqual([expect.any(AuthenticationError)]);
    world.sandbox.addFault({ path: "/Token", fault: 401 });
    await outbox.add(receipt("b"));
    world.sandbox.revokeTokens();
    await expect(inVirtualTime(outbox.watch({ everyMs: 10_000 }))).rejects.toBeInstanceOf(AuthenticationError);
    await expect(outbox.watch(Object({ everyMs: "1" }))).rejects.toBeInstanceOf(InputValidationError);
  });
});

it("writes of the outbox wait for other calls, and leave them the reserved slots", async () => {
  const world = createWorld();
  const rateLimit = { requests: 10, intervalMs: 60_000, reserved: 3 };
  const client = world.createClient({ rateLimit });
  const outbox = world.createOutbox({ client });
  await outbox.addMany(Array.from({ length: 30 }, (_, index) => receipt(`k${index}`)));
  const run = outbox.run();
  await inVirtualTime(wait(30_000));
  expect(client.rateLimit).toMatchObject({ available: 2 });
  const startedAt = performance.now();
  await inVirtualTime(client.inventory.receive({ itemID: "NUT", units: 1, wid: 3, reasonCode: 1 }));
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  expect(await inVirtualTime(run)).toMatchObject({ applied: 30 });
});

it("the time limit of the client's calls does not end calls that wait for a slot", async () => {
  const world = createWorld();
  const rateLimit = { requests: 4, intervalMs: 60_000, reserved: 0 };
  const outbox = world.createOutbox({}, { rateLimit, totalTimeoutMs: 5_000 });
  await outbox.addMany(Array.from({ length: 10 }, (_, index) => receipt(`k${index}`)));
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 10 });
});

it("nor look-ups that wait for one", async () => {
  const world = createWorld();
  const rateLimit = { requests: 4, intervalMs: 60_000, reserved: 0 };
  const outbox = world.createOutbox({ mark: "remark" }, { rateLimit, totalTimeoutMs: 5_000 });
  await outbox.addMany(Array.from({ length: 5 }, (_, index) => receipt(`k${index}`)));
  let writes = 0;
  world.intercept = async (request, send) => {
    if (isWrite(request)) writes += 1;
    const response = await send();
    // The token and three writes have used the slots.
    if (isWrite(request) && writes === 3) throw connectionReset();
    return response;
  };
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 5, pending: 0 });
});
