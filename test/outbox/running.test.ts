import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AuthenticationError, ConfigurationError } from "../../src/index.js";
import { createOutbox, type OutboxEntryInput } from "../../src/outbox/index.js";
import { runEntries } from "../../src/outbox/run.js";
import { OpenStore } from "../../src/outbox/store.js";
import { InFlight } from "../../src/storage/database.js";
import { openStore } from "./support/store-spec.js";
import { connectionReset, createWorld, type Intercept, isWrite, receipt } from "./support/world.js";

type World = ReturnType<typeof createWorld>;

const bodyOf = async (request: Request) => Object(await request.clone().json());

/** Records the writes that reach the service, and how many of them are in flight at the same time. */
function recorded(world: World, behave: Intercept = (_, send) => send()) {
  const record = { bodies: [] as Record<string, unknown>[], inFlight: 0, most: 0 };
  world.onWrite = async (request, send) => {
    record.bodies.push(await bodyOf(request));
    record.inFlight += 1;
    record.most = Math.max(record.most, record.inFlight);
    try {
      await wait(20);
      return await behave(request, send);
    } finally {
      record.inFlight -= 1;
    }
  };
  return record;
}

const serviceError = (statusCode: number) =>
  Response.json(
    { statusCode, error: "error", message: "Insufficient permissions.", details: null },
    { status: statusCode },
  );

const statesOf = async (outbox: ReturnType<typeof createOutbox>) => {
  const states: string[] = [];
  for await (const { key, state } of outbox.entries()) states.push(`${key} ${state}`);
  return states;
};

describe("order", () => {
  it("is that of adding for one item, in whatever spelling", async () => {
    const world = createWorld();
    const spellings = ["CAFÉ", "café", " CAFÉ ", "CAFÉ".normalize("NFD"), "Cafe\u0301"];
    const record = recorded(world, async () => Response.json({}, { status: 201 }));
    const outbox = world.createOutbox();
    await outbox.addMany(spellings.map((itemID, index) => receipt(`k${index}`, { itemID, units: index + 1 })));
    await outbox.run();
    expect(record.bodies.map(({ units }) => units)).toEqual([1, 2, 3, 4, 5]);
    expect(record.most).toBe(1);
  });

  it("is kept if an earlier entry becomes pending again while others are sent", async () => {
    const world = createWorld();
    world.onWrite = async () => serviceError(400);
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    await outbox.run();
    const record = recorded(world);
    const others = ["NUT", "WASHER"].map((itemID) => receipt(itemID, { itemID }));
    await outbox.addMany([...others, receipt("b", { units: 2 })]);
    const onResult = ({ key }: { key: string }) => void (key === "NUT" && outbox.resolve("a", "not-applied"));
    expect(await outbox.run({ concurrency: 1, onResult })).toMatchObject({ applied: 4 });
    expect(record.bodies.filter(({ itemID }) => itemID === "BOLT").map(({ units }) => units)).toEqual([50, 2]);
  });

  it("is free between items, up to `concurrency`", async () => {
    const world = createWorld();
    const record = recorded(world);
    const outbox = world.createOutbox();
    const items = ["BOLT", "NUT", "WASHER"];
    await outbox.addMany(items.flatMap((itemID) => [1, 2].map((n) => receipt(`${itemID}${n}`, { itemID }))));
    expect(await outbox.run({ concurrency: 2 })).toMatchObject({ applied: 6, requests: 7, pending: 0 });
    expect(record.most).toBe(2);
  });

  it("does not look up entries that it has just sent, if the database replies late to a reading", async () => {
    const world = createWorld();
    recorded(world);
    const next = OpenStore.prototype.next;
    vi.spyOn(OpenStore.prototype, "next").mockImplementation(async function (this: OpenStore, ...given) {
      const entries = await next.apply(this, given);
      await wait(30);
      return entries;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const outbox = world.createOutbox({ settleMs: 1_000 });
    const items = ["BOLT", "NUT", "WASHER"];
    const keys = items.flatMap((itemID) => [1, 2, 3].map((n) => `${itemID}${n}`));
    await outbox.addMany(keys.map((key) => receipt(key, { itemID: key.slice(0, -1) })));
    const results: string[] = [];
    const report = await outbox.run({ onResult: ({ key, state }) => results.push(`${key} ${state}`) });
    expect(report).toMatchObject({ applied: 9, requests: 10, pending: 0 });
    expect(results.sort()).toEqual(keys.map((key) => `${key} applied`));
  });

  it("holds back what is behind an unknown entry, until a person has decided", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    const issue = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };
    await outbox.add({ key: "lost", operation: "issue", input: issue });
    await outbox.addMany([receipt("behind"), receipt("other", { itemID: "NUT" })]);
    const noSuccess = () => new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } });
    world.onWrite = async (request, send) => (request.url.endsWith("/Issue") ? noSuccess() : send());
    expect(await outbox.run()).toMatchObject({ applied: 1, unknown: 1, pending: 0 });
    expect(await statesOf(outbox)).toEqual(["lost unknown", "behind pending", "other applied"]);
    expect(await outbox.run()).toMatchObject({ applied: 0, unknown: 1, requests: 0 });
    await outbox.resolve("lost", "applied");
    expect(await outbox.run()).toMatchObject({ applied: 1, unknown: 0 });
  });
});

describe("several runs at once", () => {
  it("end when what was stored is settled, though others add more", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("first"));
    let added = 0;
    world.onWrite = async (_, send) => {
      await outbox.add(receipt(`more ${added++}`, { itemID: "NUT" }));
      return send();
    };
    expect(await outbox.run()).toMatchObject({ applied: 1, pending: 1 });
  });

  it("wait while a call of another one lasts longer than its lease", async () => {
    const world = createWorld();
    const record = recorded(world, async (_, send) => {
      await wait(2_000);
      return send();
    });
    const options = { leaseMs: 1_200, settleMs: 20_000 };
    const [first, second] = [1, 2].map(() => world.createOutbox(options, { timeoutMs: 20_000 }));
    await first?.addMany([receipt("a"), receipt("b", { itemID: "NUT" })]);
    const reports = await Promise.all([first?.run({ concurrency: 1 }), second?.run({ concurrency: 1 })]);
    expect(reports.map((report) => report?.applied).sort()).toEqual([0, 2]);
    expect(record.bodies).toHaveLength(2);
  });

  it.each(["write", "look-up"])("abort a %s in flight when another one has taken over", async (what) => {
    const world = createWorld();
    await world.createOutbox().add({ key: "a", operation: "create", input: { shortID: "NEW" } });
    const { store } = await openStore(world.store());
    // A heartbeat between the two commands makes takeLock fail, so they are repeated.
    const takeOver = async (sender: string) => {
      for (;;) {
        const taken = await store.takeLock(await store.sender(), { sender, leaseMs: 0, settleMs: 0 });
        if (taken) return taken;
      }
    };
    const [entry] = await store.next(1, { upTo: 1 });
    const { beat } = await takeOver("crashed");
    if (what === "look-up" && entry)
      await store.markSending(entry, { sender: "crashed", beat, sentAt: Date.now(), clockAheadMs: 0, lastRecNo: null });
    const end = new AbortController();
    const methods: string[] = [];
    world.intercept = async (request, send) => {
      if (request.url.endsWith("/Token")) return send();
      methods.push(request.method);
      request.signal.addEventListener("abort", () => end.abort(new Error("was aborted")));
      await takeOver("other");
      return new Promise(() => {});
    };
    const client = world.createClient({ timeoutMs: Infinity });
    const settings = {
      client,
      store,
      settleMs: 0,
      leaseMs: 200,
      closed: new AbortController().signal,
      inFlight: new InFlight(),
    };
    await expect(runEntries(settings, { signal: end.signal })).rejects.toThrow("was aborted");
    expect(methods).toEqual([what === "write" ? "POST" : "GET"]);
    await store.database.close();
  });

  it.each([
    ["unknown", 1],
    ["applied", 2],
  ])("report a write that was applied when it is %s by now, after attempt %d", async (state, attempts) => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    const { database, names } = (await openStore(world.store())).store;
    world.onWrite = async (_, send) => {
      const response = await send();
      const sql = `UPDATE ${names.entries} SET state = $1, attempts = $2`;
      await database.transaction((run) => run(sql, [state, attempts]));
      return response;
    };
    await expect(outbox.run()).rejects.toThrow(`Attempt 1 for "a" was applied`);
    expect(await outbox.get("a")).toMatchObject({ state, attempts });
    await database.close();
  });
});

it.each([
  [204, null],
  [200, ""],
  [200, "OK"],
  [200, "[]"],
])("an update that the service answers with %i and %j was applied", async (status, body) => {
  const world = createWorld();
  const outbox = world.createOutbox();
  await outbox.add({ key: "a", operation: "update", input: { shortID: "BOLT", description: "new" } });
  world.onWrite = async (_, send) => {
    await send();
    return new Response(body, { status });
  };
  expect(await outbox.run()).toMatchObject({ applied: 1, pending: 0 });
  expect(world.effects()).toBe(1);
});

describe("a lost response", () => {
  const lose = (world: World, when: "before" | "after", times = 1) => {
    let left = times;
    world.onWrite = async (_, send) => {
      if (left === 0) return send();
      left -= 1;
      if (when === "after") await send();
      throw connectionReset();
    };
  };
  const MARKED = { mark: "remark" } as const;

  const CREATE: OutboxEntryInput = { key: "a", operation: "create", input: { shortID: "NEW", description: "x" } };
  it.each([
    ["a marked receipt", "before", receipt("a"), MARKED, { applied: 1 }],
    ["a marked receipt", "after", receipt("a"), MARKED, { applied: 1 }],
    ["a receipt without a mark", "before", receipt("a"), {}, { applied: 1 }],
    ["a receipt without a mark", "after", receipt("a"), {}, { unknown: 1 }],
    ["a create", "before", CREATE, {}, { applied: 1 }],
    ["a create", "after", CREATE, {}, { applied: 1 }],
  ] as const)("of %s, lost %s the effect, is decided by the service: it is applied once", async (_, when, entry, mark, expected) => {
    const world = createWorld();
    const outbox = world.createOutbox(mark);
    await outbox.add(entry);
    lose(world, when);
    expect(await outbox.run()).toMatchObject({ applied: 0, unknown: 0, rejected: 0, ...expected });
    expect(world.effects()).toBe(1);
  });

  it("is decided by the lots of the item, in whatever spelling the service lists it", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(MARKED);
    await outbox.add(receipt("a"));
    lose(world, "after");
    const { intercept } = world;
    world.intercept = async (request, send) => {
      const response = await intercept(request, send);
      const isLots = request.method === "GET" && request.url.includes("/Inventory");
      return isLots ? new Response((await response.text()).replaceAll('"BOLT"', '"bölt"'), response) : response;
    };
    expect(await outbox.run()).toMatchObject({ applied: 1 });
    expect(world.effects()).toBe(1);
  });

  it("leaves another receipt's lot alone, also if that was pruned", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(MARKED);
    await outbox.add(receipt("first"));
    await outbox.run();
    await outbox.prune({ olderThanMs: 0 });
    await outbox.add(receipt("second"));
    lose(world, "before");
    expect(await outbox.run()).toMatchObject({ applied: 1, unknown: 0 });
    expect(world.effects()).toBe(2);
  });

  it("leaves the lot of a move alone that the same run has sent before", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(MARKED);
    const input = { itemID: "BOLT", wid: 3, units: 9, fromSpot: "A-1", toSpot: "B-1" };
    await outbox.addMany([
      receipt("nuts", { itemID: "NUT" }),
      { key: "m", operation: "move", input },
      receipt("bolts"),
    ]);
    let losses = 0;
    world.onWrite = async (request, send) => {
      const { itemID } = await bodyOf(request);
      if (itemID !== "BOLT" || !request.url.includes("/Receive") || losses > 0) return send();
      losses += 1;
      throw connectionReset();
    };
    expect(await outbox.run({ concurrency: 1 })).toMatchObject({ applied: 3, unknown: 0, pending: 0 });
    expect(world.effects()).toBe(3);
  });

  it.each([
    ["new", { applied: 1, unknown: 0 }],
    ["other", { applied: 0, unknown: 1 }],
  ])("of an update that is refused the second time is unknown unless the item is as sent: %s", async (description, expected) => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add({ key: "u", operation: "update", input: { shortID: "BOLT", description: "new" } });
    await world.createClient().items.update("BOLT", { description });
    let attempts = 0;
    world.onWrite = async () => {
      attempts += 1;
      if (attempts > 1) return serviceError(409);
      throw connectionReset();
    };
    expect(await outbox.run()).toMatchObject({ ...expected, rejected: 0 });
  });

  it("twice in one run leaves the entry for the next one", async () => {
    const world = createWorld();
    const outbox = world.createOutbox(MARKED);
    await outbox.add(receipt("a"));
    lose(world, "before", 2);
    expect(await outbox.run()).toMatchObject({ applied: 0, unknown: 0, pending: 1 });
    expect(await statesOf(outbox)).toEqual(["a sending"]);
    expect(await outbox.run()).toMatchObject({ applied: 1 });
  });

  const EMPTY = { value: [], totalCount: 9, page: 1, pageSize: 250, pageCount: 1, hasMore: true };
  type Respond = (path: string, send: () => Promise<Response>) => Response | Promise<Response>;
  it.each<[string, string, Respond]>([
    ["unknown", "refused with 400", () => serviceError(400)],
    ["unknown", "refused with 403", () => serviceError(403)],
    ["unknown", "refused with 404", () => serviceError(404)],
    ["unknown", "refused with 405", () => serviceError(405)],
    ["unknown", "refused with 501", () => serviceError(501)],
    ["sending", "answered with 408", () => serviceError(408)],
    ["sending", "answered with 500", () => serviceError(500)],
    ["sending", "refused by a proxy with 404", () => new Response("<html>", { status: 404 })],
    [
      "sending",
      "in a list that contradicts itself",
      (path, send) => (path.endsWith("/Item") ? send() : Response.json(EMPTY)),
    ],
    // The client does not request an item with this SKU, which a URL would drop.
    ["unknown", "of the item .", (_, send) => send()],
  ])("leaves an entry %s if it is %s when it is looked up", async (state, what, respond) => {
    const world = createWorld();
    const outbox = world.createOutbox(MARKED);
    await outbox.add(receipt("a", what === "of the item ." ? { itemID: "." } : {}));
    world.intercept = async (request, send) => {
      if (isWrite(request)) throw connectionReset();
      return request.method === "GET" ? respond(new URL(request.url).pathname, send) : send();
    };
    expect(await outbox.run()).toMatchObject(
      state === "unknown" ? { unknown: 1, pending: 0 } : { unknown: 0, pending: 1 },
    );
    expect(await statesOf(outbox)).toEqual([`a ${state}`]);
  });
});

describe("commits that fail once a write was sent", () => {
  it.each([
    ["before", 2],
    ["after", 2],
    ["before", Infinity],
    ["after", Infinity],
  ] as const)("%s their effect, %d times, neither lose nor double it", async (when, times) => {
    const world = createWorld();
    const options = { mark: "remark", leaseMs: 300 } as const;
    await world.createOutbox(options).add(receipt("a"));
    const store = world.store();
    const opened = await openStore(store);
    vi.spyOn(store, "open").mockResolvedValue(opened);
    const { transaction } = opened.store.database;
    let left = 0;
    world.onWrite = (_, send) => {
      left = times;
      return send();
    };
    opened.store.database.transaction = async (...args) => {
      const isFailing = left > 0;
      left -= 1;
      const result = isFailing && when === "before" ? undefined : await transaction(...args);
      if (isFailing) throw new Error("the disk is full");
      return result as never;
    };
    const run = world.createOutbox({ ...options, store }).run();
    await (times === Infinity ? expect(run).rejects.toThrow("the disk is full") : run);
    const next = world.createOutbox(options);
    await next.run();
    expect(await next.get("a")).toMatchObject({ state: "applied" });
    expect(world.effects()).toBe(1);
  });
});

describe("a failure", () => {
  it("of many items leaves their entries pending, with the error, and does not hide those that were added after them", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ leaseMs: 60_000 });
    const keys = Array.from({ length: 104 }, (_, index) => `${index % 2 === 0 ? "bad" : "good"} ${index}`);
    await outbox.addMany(keys.map((key) => receipt(key, { itemID: key })));
    world.onWrite = async (request) =>
      (await bodyOf(request)).itemID.startsWith("bad") ? new Response("<html>", { status: 404 }) : Response.json({});
    expect(await outbox.run({ concurrency: 1 })).toMatchObject({ applied: 52, pending: 52, requests: 106 });
    expect(await outbox.get("bad 0")).toMatchObject({ state: "pending", error: { status: 404 } });
  });

  it("that concerns all entries ends the run and leaves them pending", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" })]);
    world.onWrite = async () => serviceError(401);
    await expect(outbox.run()).rejects.toBeInstanceOf(AuthenticationError);
    expect(await statesOf(outbox)).toEqual(["a pending", "b pending"]);
    world.onWrite = (_, send) => send();
    expect(await outbox.run()).toMatchObject({ applied: 2 });
  });

  const BLOCKED = { headers: { "content-type": "text/html" } };
  it.each<[string, () => Response, object]>([
    ["status 403 of a firewall", () => new Response("<html>", { status: 403, ...BLOCKED }), { status: 403 }],
    ["status 503 of a firewall", () => new Response("<html>", { status: 503, ...BLOCKED }), { status: 503 }],
    ["the service's own 403", () => serviceError(403), { name: "PermissionError" }],
  ])("with %s for every entry ends the run after a few requests", async (_, respond, error) => {
    const items = Array.from({ length: 40 }, (_, index) => ({ shortID: `I${index}` }));
    const world = createWorld({ items });
    const outbox = world.createOutbox({ settleMs: 60_000 });
    await outbox.addMany(items.map(({ shortID }) => receipt(shortID, { itemID: shortID })));
    let sent = 0;
    world.onWrite = async () => {
      sent += 1;
      return respond();
    };
    await expect(outbox.run()).rejects.toMatchObject(error);
    expect(sent).toBeLessThanOrEqual(10);
  });
});

describe("a run", () => {
  it("that is stopped between the begin of an attempt and its first byte leaves the entry pending", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.add(receipt("a"));
    const stop = new AbortController();
    const { markSending } = OpenStore.prototype;
    vi.spyOn(OpenStore.prototype, "markSending").mockImplementation(async function (this: OpenStore, ...given) {
      const begun = await markSending.apply(this, given);
      stop.abort();
      return begun;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(outbox.run({ signal: stop.signal })).rejects.toThrow();
    expect(await statesOf(outbox)).toEqual(["a pending"]);
    expect(world.effects()).toBe(0);
  });

  it("ends with the reason of its signal, after the requests in flight", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b")]);
    const controller = new AbortController();
    const reason = new Error("enough");
    world.onWrite = async (_, send) => {
      controller.abort(reason);
      return send();
    };
    await expect(outbox.run({ signal: controller.signal })).rejects.toBe(reason);
    expect(await statesOf(outbox)).toEqual(["a applied", "b pending"]);
  });

  it("ends with an AbortError when the outbox is closed, and a later call opens it again", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("b")]);
    let closed: Promise<void> | undefined;
    world.onWrite = async (_, send) => {
      closed ??= outbox.close();
      return send();
    };
    await expect(outbox.run()).rejects.toMatchObject({ name: "AbortError" });
    await closed;
    expect(await statesOf(outbox)).toEqual(["a applied", "b pending"]);
    expect(await outbox.run()).toMatchObject({ applied: 1 });
  });

  it("reports each result after it was stored, and its progress", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    const reader = world.createOutbox();
    await outbox.addMany([receipt("a"), receipt("bad", { itemID: "NO-SUCH" })]);
    const results: Promise<unknown>[] = [];
    const progress: unknown[] = [];
    await outbox.run({
      concurrency: 1,
      onResult: ({ key }) => results.push(reader.get(key).then((stored) => `${key} ${stored?.state}`)),
      onProgress: (step) => {
        progress.push(step);
        throw new Error("ignored");
      },
    });
    expect(await Promise.all(results)).toEqual(["a applied", "bad rejected"]);
    expect(progress).toMatchObject([
      { applied: 1, rejected: 0, unknown: 0, pending: 1, requests: 2 },
      { applied: 1, rejected: 1, unknown: 0, pending: 0, requests: 3 },
    ]);
    // Progress contains no internal counters of the run.
    const names = ["applied", "etaMs", "pending", "rejected", "requests", "settlingMs", "unknown"];
    expect(Object.keys(Object(progress[0])).sort()).toEqual(names);
  });

  it("waits for the longest settleMs that was ever used with the store", async () => {
    const world = createWorld();
    const first = world.createOutbox({ settleMs: 600 });
    await first.add({ key: "u", operation: "update", input: { shortID: "BOLT", description: "new" } });
    let lost = false;
    world.onWrite = async (_, send) => {
      if (lost) return send();
      lost = true;
      throw connectionReset();
    };
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    await first.run({ signal: controller.signal }).catch(() => {});
    const startedAt = performance.now();
    expect(await world.createOutbox({ settleMs: 150 }).run()).toMatchObject({ applied: 1 });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(599);
  });

  it("needs a client, whose requests end before settleMs", () => {
    const world = createWorld();
    expect(() => world.createOutbox({ settleMs: 100 })).toThrow(ConfigurationError);
    expect(() => world.createOutbox({ settleMs: Infinity })).toThrow(ConfigurationError);
    expect(() => world.createOutbox({ leaseMs: Infinity })).toThrow(ConfigurationError);
    return expect(createOutbox({ store: world.store() }).run()).rejects.toBeInstanceOf(ConfigurationError);
  });
});
