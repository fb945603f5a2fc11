import { beforeEach, describe, expect, it, vi } from "vitest";
import type { NewOutboxEntry } from "../../src/outbox/index.js";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { inVirtualTime, useVirtualTime, wait } from "./support/virtual-time.js";
import { connectionReset, createWorld, type Intercept, isList, isWrite, receipt } from "./support/world.js";

const SETTLE_MS = 60_000;
const LEASE_MS = 30_000;
const DEFAULTS = { settleMs: SETTLE_MS, leaseMs: LEASE_MS };

type World = ReturnType<typeof createWorld>;

beforeEach(() => useVirtualTime());

/** The first write is lost: its effect takes place after a time, at once (0) or never. */
const loseFirst = (appliedAfterMs: number): Intercept => {
  let writes = 0;
  return async (request, send) => {
    if (!isWrite(request) || writes++ > 0) return send();
    if (appliedAfterMs === 0) await send();
    else if (appliedAfterMs !== Infinity) setTimeout(() => void send(), appliedAfterMs);
    throw connectionReset();
  };
};

/** A process is killed while its first write is in flight: nothing of it happens afterwards, except the effect. */
async function killDuringWrite(
  world: World,
  entry: NewOutboxEntry,
  options: object,
  appliedAfterMs: number,
): Promise<void> {
  let isAlive = true;
  const store = new Proxy(memoryStore(world.data), {
    get: (target, name, receiver) => {
      const method: unknown = Reflect.get(target, name, receiver);
      return (...args: unknown[]) =>
        isAlive && typeof method === "function" ? method.apply(target, args) : new Promise(() => {});
    },
  });
  const outbox = world.createOutbox({ ...DEFAULTS, ...options, store });
  await outbox.add(entry);
  await new Promise<void>((resolve) => {
    world.intercept = async (request, send) => {
      if (!isWrite(request)) return send();
      isAlive = false;
      if (appliedAfterMs === 0) await send();
      else if (appliedAfterMs !== Infinity) setTimeout(() => void send(), appliedAfterMs);
      resolve();
      return new Promise(() => {});
    };
    void outbox.run();
  });
  world.intercept = (_, send) => send();
}

const others = (world: World) => world.createClient();

describe.each([
  [
    "a lost response",
    async (world: World, entry: NewOutboxEntry, options: object, appliedAfterMs: number) => {
      const outbox = world.createOutbox({ ...DEFAULTS, ...options });
      await outbox.add(entry);
      world.intercept = loseFirst(appliedAfterMs);
      return outbox;
    },
  ],
  [
    "a kill",
    async (world: World, entry: NewOutboxEntry, options: object, appliedAfterMs: number) => {
      await killDuringWrite(world, entry, options, appliedAfterMs);
      return world.createOutbox({ ...DEFAULTS, ...options });
    },
  ],
])("after %s", (_, lose) => {
  const loseAndRun = async (
    entry: NewOutboxEntry,
    options: object,
    appliedAfterMs: number,
    meanwhile = async (_: World) => {},
  ) => {
    const world = createWorld();
    const outbox = await inVirtualTime(lose(world, entry, options, appliedAfterMs));
    const startedAt = performance.now();
    const [report] = await inVirtualTime(Promise.all([outbox.run(), wait(1).then(() => meanwhile(world))]));
    return { world, outbox, report, durationMs: performance.now() - startedAt, entry: await outbox.get(entry.key) };
  };

  it.each([
    ["a mark in the remark", { mark: "remark" }, {}],
    ["a mark in front of its own remark", { mark: "remark" }, { remark: "see note" }],
    ["a mark as serial", { mark: "serial" }, {}],
    ["its serial", {}, { serial: "S-1" }],
    ["its RFID tag", {}, { rfidTag: "R-1" }],
  ])("a receipt is found by %s", async (_, options, fields) => {
    const { world, report, entry } = await loseAndRun(receipt("a", fields), options, 0);
    expect(report).toMatchObject({ applied: 1, unknown: 0, pending: 0 });
    expect(entry).toMatchObject({ state: "applied", attempts: 1, result: { recNo: expect.any(Number) } });
    expect(await world.receivedLots()).toHaveLength(1);
  });

  it("a receipt that is absent is resent, but not before it has settled", async () => {
    const { world, report, entry, durationMs } = await loseAndRun(receipt("a"), {}, Infinity);
    expect(report).toMatchObject({ applied: 1 });
    expect(entry).toMatchObject({ state: "applied", attempts: 2 });
    expect(durationMs).toBeGreaterThanOrEqual(SETTLE_MS);
    expect(await world.receivedLots()).toHaveLength(1);
  });

  it("a receipt that is applied late is not resent", async () => {
    const { world, entry } = await loseAndRun(receipt("a"), { mark: "remark" }, SETTLE_MS - 2_000);
    expect(entry).toMatchObject({ state: "applied", attempts: 1 });
    expect(await world.receivedLots()).toHaveLength(1);
  });

  it("a lot that looks the same is not proof without a mark", async () => {
    const { world, report, entry } = await loseAndRun(receipt("a"), {}, 0);
    expect(report).toMatchObject({ applied: 0, unknown: 1 });
    const [lot] = await world.receivedLots();
    expect(entry).toMatchObject({ state: "unknown", error: { name: "OutcomeUnknownError", lots: [lot?.recNo] } });
  });

  it("somebody else's receipt that looks the same does not hide that a marked one is missing", async () => {
    const { report } = await loseAndRun(receipt("a"), { mark: "remark" }, Infinity, async (world) => {
      await others(world).inventory.receive({ itemID: "BOLT", units: 50, wid: 3, reasonCode: 1 });
    });
    // Its remark may have been corrected, so only a person can decide.
    expect(report).toMatchObject({ unknown: 1, applied: 0 });
  });

  it("somebody else's text that looks like a mark proves nothing", async () => {
    const { report } = await loseAndRun(receipt("a"), { mark: "remark" }, Infinity, async (world) => {
      const remark = "[sl:ABCDEFGHIJKLMNOP]";
      await others(world).inventory.receive({ itemID: "BOLT", units: 50, wid: 3, reasonCode: 1, remark });
    });
    expect(report).toMatchObject({ unknown: 1, applied: 0 });
  });

  it("a marked lot is found though it was issued in part", async () => {
    const { entry } = await loseAndRun(receipt("a"), { mark: "remark" }, 0, async (world) => {
      await others(world).inventory.issue({ itemID: "BOLT", units: 20, wid: 3, reasonCode: 1 });
    });
    expect(entry).toMatchObject({ state: "applied", attempts: 1 });
  });

  it("`move` and `issue` are unknown", async () => {
    const { report, world, entry } = await loseAndRun(
      { key: "a", operation: "issue", input: { itemID: "NUT", units: 1, wid: 3, reasonCode: 1 } },
      {},
      Infinity,
    );
    expect(report).toMatchObject({ unknown: 1 });
    expect(entry).toMatchObject({
      state: "unknown",
      attempts: 1,
      error: { message: expect.stringContaining("outbox.resolve") },
    });
    expect(world.requests("POST")).toHaveLength(0);
  });

  it.each([
    ["an issue", { operation: "issue", input: { itemID: "NUT", units: 1, wid: 3, reasonCode: 1 } }],
    ["a receipt that the client may not look up", receipt("a", { itemID: "NUT" })],
  ] as const)("%s, unknown, is not resent while it may be applied", async (_, entry) => {
    const forbidden = { statusCode: 403, error: "Forbidden", message: "Insufficient permissions." };
    const world = createWorld();
    const outbox = await inVirtualTime(lose(world, { ...entry, key: "a" }, {}, Infinity));
    const usual = world.intercept;
    world.intercept = async (request, send) =>
      isList(request) ? Response.json(forbidden, { status: 403 }) : usual(request, send);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1 });
    const endsAt = Date.now() + SETTLE_MS;
    const { message } = Object((await outbox.get("a"))?.error);
    const [, until = ""] = /it may take effect until (.* UTC), so look after that/.exec(message) ?? [];
    expect(Math.abs(Date.parse(until) - endsAt)).toBeLessThanOrEqual(1_000);
    const sentAt: number[] = [];
    world.intercept = (request, send) => {
      if (isWrite(request)) sentAt.push(Date.now());
      return send();
    };
    await outbox.resolve("a", "not-applied");
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
    expect(sentAt).toEqual([expect.any(Number)]);
    expect(sentAt[0]).toBeGreaterThanOrEqual(endsAt - 1_000);
  });

  it.each([
    ["that was applied", 0],
    ["that is applied late", 50_000],
    ["that is lost", Infinity],
  ])("a create %s is applied once", async (_, appliedAfterMs) => {
    const { world, entry } = await loseAndRun(
      { key: "a", operation: "create", input: { shortID: "NEW" } },
      {},
      appliedAfterMs,
    );
    expect(entry).toMatchObject({ state: "applied" });
    expect(world.requests("POST").filter(({ status }) => status === 201)).toHaveLength(1);
  });
});

describe("a mark", () => {
  it("is in front of the remark, the same in each attempt, and different for each key", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ ...DEFAULTS, mark: "remark" });
    await outbox.addMany([receipt("a", { remark: "note" }), receipt("b", { itemID: "NUT" })]);
    const remarks: string[] = [];
    world.intercept = async (request, send) => {
      if (isWrite(request)) remarks.push(Object(await request.clone().json()).remark);
      if (remarks.length === 1) throw connectionReset();
      return send();
    };
    await inVirtualTime(outbox.run({ concurrency: 1 }));
    const [first, other, second] = remarks;
    expect(first).toMatch(/^\[sl:[A-Z2-7]{16}\] note$/);
    expect(other).toMatch(/^\[sl:[A-Z2-7]{16}\]$/);
    expect(second).toBe(first);
    expect(first?.slice(0, 21)).not.toBe(other);
    expect(await outbox.get("b")).toMatchObject({ input: { itemID: "NUT" } });
  });

  it("of two lots is reported as a duplicate", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ ...DEFAULTS, mark: "remark" });
    await outbox.add(receipt("a"));
    let lost = 0;
    world.intercept = async (request, send) => {
      if (!isWrite(request) || lost++ > 0) return send();
      await send();
      await wait(10);
      await send();
      throw connectionReset();
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1 });
    const recNos = (await world.receivedLots()).map(({ recNo }) => recNo);
    expect(await outbox.get("a")).toMatchObject({
      state: "unknown",
      error: { message: expect.stringContaining("duplicate"), lots: expect.arrayContaining(recNos) },
    });
  });

  it.each([
    ["cut off", (remark: string) => remark.slice(0, 12), "unknown"],
    ["removed", () => "", "unknown"],
    ["written in lower case", (remark: string) => remark.toLowerCase(), "applied"],
    ["behind another remark", (remark: string) => `checked. ${remark}`, "applied"],
  ])("that is %s in the list", async (_, change, state) => {
    const world = createWorld();
    const outbox = world.createOutbox({ ...DEFAULTS, mark: "remark" });
    await outbox.add(receipt("a"));
    const lose = loseFirst(0);
    world.intercept = async (request, send) => {
      const response = await lose(request, send);
      if (request.method !== "GET") return response;
      const text = (await response.text()).replace(/(?<="remark":")\[sl:[^"]+/g, change);
      return new Response(text, { headers: response.headers });
    };
    await inVirtualTime(outbox.run());
    expect(await outbox.get("a")).toMatchObject({ state, attempts: 1 });
  });

  it("is still found after the lot was split by a move", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ ...DEFAULTS, mark: "remark" });
    await outbox.add(receipt("a"));
    let lost = 0;
    world.intercept = async (request, send) => {
      const response = await send();
      if (!isWrite(request) || lost++ > 0) return response;
      const [lot] = await world.receivedLots();
      await world
        .createClient()
        .inventory.move({ itemID: "BOLT", units: 20, wid: 3, recno: lot?.recNo, toSpot: "B-1" });
      throw connectionReset();
    };
    await inVirtualTime(outbox.run());
    expect(await world.receivedLots()).toHaveLength(2);
    expect(await outbox.get("a")).toMatchObject({ state: "applied" });
  });
});

describe("other receipts of the same item", () => {
  it("that the outbox has sent do not make a missing one unknown", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([receipt("a"), receipt("b"), receipt("c")]);
    let writes = 0;
    world.intercept = async (request, send) => {
      if (isWrite(request) && ++writes === 3) throw connectionReset();
      return send();
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 3 });
    expect(await world.receivedLots()).toHaveLength(3);
  });

  it("with the same serial prove nothing if their lots are not known", async () => {
    const world = createWorld({ sandbox: { receiveForm: "empty" } });
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([receipt("a", { serial: "LOT-7" }), receipt("b", { serial: "LOT-7" })]);
    let writes = 0;
    world.intercept = async (request, send) => {
      if (isWrite(request) && ++writes === 2) throw connectionReset();
      return send();
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, unknown: 1 });
    expect(await world.receivedLots()).toHaveLength(1);
  });
});

describe("clocks", () => {
  it.each([
    ["set back between sending and looking", -7_200_000, 0],
    ["set forward between sending and looking", 7_200_000, 0],
    ["behind the service", 0, 600_000],
    ["ahead of the service", 0, -600_000],
  ])("%s hide nothing", async (_, shiftMs, offsetMs) => {
    const start = Date.now();
    const now = () => start + performance.now() + offsetMs;
    const world = createWorld({ sandbox: { now } });
    await inVirtualTime(killDuringWrite(world, receipt("a"), { mark: "remark" }, 0));
    vi.setSystemTime(Date.now() + shiftMs);
    const outbox = world.createOutbox({ ...DEFAULTS, mark: "remark" });
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
    expect(await world.receivedLots()).toHaveLength(1);
  });

  it("that are not known when a request is sent leave an absent receipt unknown", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.add(receipt("a"));
    const lose = loseFirst(Infinity);
    world.intercept = async (request, send) => {
      const response = await lose(request, send);
      if (!request.url.endsWith("/Token")) return response;
      return new Response(await response.text(), { headers: { "content-type": "application/json" } });
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1 });
  });
});

describe("an update", () => {
  const update = (key: string, description: string): NewOutboxEntry => ({
    key,
    operation: "update",
    input: { shortID: "BOLT", description },
  });

  it("that is applied late overwrites no later one", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([update("a", "first"), update("b", "second")]);
    world.intercept = loseFirst(50_000);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 2 });
    await inVirtualTime(wait(SETTLE_MS));
    expect(await world.createClient().items.get("BOLT")).toMatchObject({ description: "second" });
  });

  it("of a missing item that is applied late overwrites no item that is created later", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    const create = { key: "b", operation: "create", input: { shortID: "NEW", description: "second" } } as const;
    await outbox.addMany([{ key: "a", operation: "update", input: { shortID: "NEW", description: "first" } }, create]);
    world.intercept = loseFirst(50_000);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, rejected: 1 });
    await inVirtualTime(wait(SETTLE_MS));
    expect(await world.createClient().items.get("NEW")).toMatchObject({ description: "second" });
  });

  it("of a killed process is resent at once, and later entries wait", async () => {
    const world = createWorld();
    await inVirtualTime(killDuringWrite(world, update("a", "first"), {}, 80_000));
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.add(update("b", "second"));
    const startedAt = performance.now();
    const results: [string, number][] = [];
    const onResult = ({ key }: { key: string }) => results.push([key, performance.now() - startedAt]);
    await inVirtualTime(outbox.run({ onResult }));
    expect(results.map(([key]) => key)).toEqual(["a", "b"]);
    expect(results[0]?.[1]).toBeLessThan(LEASE_MS + 5_000);
    expect(results[1]?.[1]).toBeGreaterThanOrEqual(LEASE_MS + SETTLE_MS - 1_500);
    await inVirtualTime(wait(SETTLE_MS));
    expect(await world.createClient().items.get("BOLT")).toMatchObject({ description: "second" });
  });

  /** The service refuses the first entry, so that a person may decide that it is sent after all. */
  const refuseFirst = (): Intercept => {
    let writes = 0;
    return async (request, send) => {
      if (!isWrite(request) || writes++ > 0) return send();
      return Response.json({ statusCode: 400, error: "bad_request", message: "No." }, { status: 400 });
    };
  };

  it("that is sent in spite of a later one, and applied late, does not overwrite that", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([update("a", "first"), update("b", "second")]);
    const refuse = refuseFirst();
    world.intercept = async (request, send) => {
      const response = await refuse(request, send);
      if (isWrite(request) && response.ok) throw connectionReset();
      return response;
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ rejected: 1, pending: 1 });
    await outbox.resolve("a", "not-applied");
    // Now both have an attempt that may be applied late; that of the first one is.
    world.intercept = loseFirst(50_000);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 2 });
    await inVirtualTime(wait(SETTLE_MS));
    expect(await world.createClient().items.get("BOLT")).toMatchObject({ description: "second" });
  });

  it("that is withdrawn, and applied late, overwrites no other one", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS, { retry: { maxRetries: 0 } });
    await outbox.add(update("a", "first"));
    world.intercept = loseFirst(50_000);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ pending: 1 });
    await outbox.withdraw("a");
    await outbox.add(update("b", "second"));
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
    await inVirtualTime(wait(SETTLE_MS));
    expect(await world.createClient().items.get("BOLT")).toMatchObject({ description: "second" });
  });

  it("waits for a later one whose attempt a killed process began", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.add(update("a", "first"));
    world.intercept = refuseFirst();
    expect(await inVirtualTime(outbox.run())).toMatchObject({ rejected: 1 });
    await inVirtualTime(killDuringWrite(world, update("b", "second"), {}, 80_000));
    await outbox.resolve("a", "not-applied");
    const startedAt = performance.now();
    const results: [string, number][] = [];
    const onResult = ({ key }: { key: string }) => results.push([key, performance.now() - startedAt]);
    await inVirtualTime(outbox.run({ onResult }));
    expect(results.map(([key]) => key)).toEqual(["a", "b"]);
    expect(results[0]?.[1]).toBeGreaterThanOrEqual(LEASE_MS + SETTLE_MS - 1_500);
    expect(await world.createClient().items.get("BOLT")).toMatchObject({ description: "second" });
  });

  it("that fails stays pending with its error, others go on, and the next run applies it", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([update("a", "first"), update("b", "second"), receipt("c", { itemID: "NUT" })]);
    world.sandbox.addFault({ method: "PUT", fault: 503 });
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, pending: 2, unknown: 0 });
    expect(await outbox.get("a")).toMatchObject({ state: "pending", error: { name: "ServerError", status: 503 } });
    expect(await outbox.get("b")).toMatchObject({ state: "pending", attempts: 0 });
    world.sandbox.clearFaults();
    const startedAt = performance.now();
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 2, pending: 0 });
    expect(performance.now() - startedAt).toBeGreaterThan(SETTLE_MS / 2);
    expect(await world.createClient().items.get("BOLT")).toMatchObject({ description: "second" });
  });
});

describe("a discontinuation that is applied late", () => {
  it("does not reach an item that is created after a person has decided about it", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([
      { key: "a", operation: "discontinue", input: { shortID: "NEW" } },
      { key: "b", operation: "create", input: { shortID: "NEW" } },
    ]);
    world.intercept = loseFirst(50_000);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1, heldBack: 1 });
    await outbox.resolve("a", "applied");
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1 });
    await inVirtualTime(wait(SETTLE_MS));
    expect(await world.createClient().items.get("NEW")).toMatchObject({ discontinued: false });
  });

  it("is waited for once: a later look-up does not begin the time again", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(DEFAULTS);
    await outbox.addMany([
      { key: "a", operation: "discontinue", input: { shortID: "BOLT" } },
      { key: "b", operation: "update", input: { shortID: "BOLT", description: "later" } },
    ]);
    let writes = 0;
    world.intercept = async (request, send) => {
      if (!isWrite(request)) return send();
      writes += 1;
      if (writes === 1) throw connectionReset();
      if (writes > 2) return send();
      return Response.json({ statusCode: 409, error: "conflict", message: "It is in use." }, { status: 409 });
    };
    const startedAt = performance.now();
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, rejected: 1 });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SETTLE_MS);
    expect(performance.now() - startedAt).toBeLessThan(SETTLE_MS + 10_000);
  });
});

it("an unknown entry says why: the process ended, or how the attempt failed", async () => {
  const issue = (key: string): NewOutboxEntry => ({
    key,
    operation: "issue",
    input: { itemID: "NUT", units: 1, wid: 3, reasonCode: 1 },
  });
  const killed = createWorld();
  await killDuringWrite(killed, issue("a"), {}, Infinity);
  const failed = createWorld();
  failed.intercept = loseFirst(Infinity);
  await failed.createOutbox(DEFAULTS).add(issue("a"));
  const reasonIn = async (world: World) => {
    const outbox = world.createOutbox(DEFAULTS);
    await inVirtualTime(outbox.run());
    return Object((await outbox.get("a"))?.error).message;
  };
  expect(await reasonIn(killed)).toMatch(/\(the process ended before the response\)\. Check whether/);
  expect(await reasonIn(failed)).toMatch(/\(POST \S+: the connection broke, .*ECONNRESET\)\)\. Check whether/);
});

it("an unknown entry says how its attempt failed, also if only a later run can look it up", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.add(receipt("a"));
  const lose = loseFirst(0);
  world.intercept = async (request, send) =>
    isWrite(request) ? lose(request, send) : isList(request) ? new Response("busy", { status: 503 }) : send();
  expect(await inVirtualTime(outbox.run())).toMatchObject({ pending: 1 });
  expect(await outbox.get("a")).toMatchObject({ state: "sending", error: { name: "OutcomeUnknownError" } });
  world.intercept = (_, send) => send();
  expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1 });
  const { message } = Object((await outbox.get("a"))?.error);
  expect(message).toMatch(/\(POST \S+: the connection broke, .*ECONNRESET\)\)\. Check whether/);
});

it("an unknown entry says how its attempt was refused, also if only a later run can look it up", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.add({ key: "a", operation: "create", input: { shortID: "NEW" } });
  const refusal = (statusCode: number, message: string) =>
    Response.json({ statusCode, error: "refused", message }, { status: statusCode });
  let writes = 0;
  world.intercept = async (request, send) => {
    if (isWrite(request) && ++writes === 1) throw connectionReset();
    if (isWrite(request)) return refusal(409, "It exists.");
    return writes > 1 && isList(request) ? new Response("busy", { status: 503 }) : send();
  };
  expect(await inVirtualTime(outbox.run())).toMatchObject({ pending: 1 });
  expect(await outbox.get("a")).toMatchObject({ state: "sending", error: { name: "ConflictError" } });
  world.intercept = async (request, send) => (isList(request) ? refusal(403, "Insufficient permissions.") : send());
  expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1 });
  expect(Object((await outbox.get("a"))?.error).message).toMatch(/\(POST \S+: 409 It exists.*\)\. Check whether/);
});

it("a call that was killed while it was queued stays pending", async () => {
  const world = createWorld();
  const rateLimit = { requests: 2, intervalMs: 3_600_000, reserved: 0 };
  const outbox = world.createOutbox(DEFAULTS, { rateLimit });
  await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" })]);
  void outbox.run().catch(() => {});
  await inVirtualTime(wait(60_000));
  expect(await outbox.get("a")).toMatchObject({ state: "applied" });
  expect(await outbox.get("b")).toMatchObject({ state: "pending", attempts: 0 });
});

it("a call that waits after a 429 is pending", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS, { retry: { rateLimitDelayMs: [40_000, 40_000] } });
  await outbox.add(receipt("a"));
  world.sandbox.addFault({ method: "POST", path: "/Inventory/*", times: 1, fault: 429 });
  const run = outbox.run();
  await inVirtualTime(wait(20_000));
  expect(await outbox.get("a")).toMatchObject({ state: "pending", attempts: 1 });
  expect(await outbox.get("a")).not.toHaveProperty("sentAt");
  expect(await inVirtualTime(run)).toMatchObject({ applied: 1 });
  expect(await outbox.get("a")).toMatchObject({ attempts: 2 });
});

it("an update that waits to be retried after a 503 may have been applied", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.add({ key: "a", operation: "update", input: { shortID: "BOLT", description: "new" } });
  let writes = 0;
  world.intercept = async (request, send) => {
    if (!isWrite(request) || writes++ > 0) return send();
    return Response.json({ message: "busy" }, { status: 503, headers: { "retry-after": "30" } });
  };
  const run = outbox.run();
  await inVirtualTime(wait(10_000));
  expect(await outbox.get("a")).toMatchObject({ state: "sending", sentAt: expect.any(Number), attempts: 1 });
  expect(await inVirtualTime(run)).toMatchObject({ applied: 1 });
});

it("a create that is refused as a duplicate of an item that does not exist is left to a person", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.add({ key: "a", operation: "create", input: { shortID: "NEW" } });
  let writes = 0;
  world.intercept = async (request, send) => {
    if (!isWrite(request)) return send();
    if (writes++ === 0) throw connectionReset();
    return Response.json({ statusCode: 409, error: "conflict", message: "It exists." }, { status: 409 });
  };
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 0, rejected: 0, unknown: 1 });
});

it("a create that is applied much too late, while the next attempt is queued, is recognised by the duplicate error", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS, { retry: { rateLimitDelayMs: [40_000, 40_000] } });
  await outbox.add({ key: "a", operation: "create", input: { shortID: "NEW" } });
  let creates = 0;
  world.intercept = async (request, send) => {
    if (!isWrite(request)) return send();
    creates += 1;
    if (creates === 2) return Response.json({ message: "Rate Limit Exceeded." }, { status: 429 });
    if (creates > 2) return send();
    setTimeout(() => void send(), SETTLE_MS + 20_000);
    throw connectionReset();
  };
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, rejected: 0 });
  expect(await outbox.get("a")).toMatchObject({ state: "applied", attempts: 3 });
});

it("a duplicate error shows that the first create was applied after it had settled", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.add({ key: "a", operation: "create", input: { shortID: "NEW" } });
  let creates = 0;
  world.intercept = async (request, send) => {
    if (!isWrite(request)) return send();
    if (++creates === 1) throw connectionReset();
    // The first one arrives at last, just before the second.
    await world.sandbox.fetch(request.clone());
    return send();
  };
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, rejected: 0 });
  expect(await outbox.get("a")).toMatchObject({ state: "applied", attempts: 2, result: { shortID: "NEW" } });
});

it("a receipt whose outcome stays unknown is resent three times in a run", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" })]);
  world.intercept = async (request, send) => {
    if (isWrite(request) && (await request.clone().text()).includes("BOLT")) throw connectionReset();
    return send();
  };
  expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, pending: 1, unknown: 0 });
  expect(await outbox.get("a")).toMatchObject({ state: "pending", attempts: 4 });
});

it("a client that may not read leaves the decision to a person", async () => {
  const clients = [{ clientId: "scanner", clientSecret: "scanner-secret", permissions: [95] }];
  const world = createWorld({ sandbox: { clients } });
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.add(receipt("a"));
  world.intercept = loseFirst(Infinity);
  expect(await inVirtualTime(outbox.run())).toMatchObject({ unknown: 1 });
  expect(await outbox.get("a")).toMatchObject({
    error: { message: expect.stringContaining("Insufficient permissions") },
  });
});

it("other items go on while one settles", async () => {
  const world = createWorld();
  const outbox = world.createOutbox(DEFAULTS);
  await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" }), receipt("c", { itemID: "WASHER" })]);
  world.intercept = loseFirst(Infinity);
  const results: [string, number][] = [];
  const startedAt = performance.now();
  const onResult = ({ key }: { key: string }) => results.push([key, performance.now() - startedAt]);
  await inVirtualTime(outbox.run({ concurrency: 1, onResult }));
  expect(results.map(([key]) => key)).toEqual(["b", "c", "a"]);
  expect(results[1]?.[1]).toBeLessThan(5_000);
});
