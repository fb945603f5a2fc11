import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ConfigurationError, InputValidationError, InventoryClient, StorageError } from "../../src/index.js";
import { createMirror, type MirrorOptions, type MirrorProgress, sqliteSink } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { seededRandom } from "../support/random.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";
import { recordsIn, statusOf, useCopies } from "./support/copies.js";

const { sinks: SINKS } = await useCopies("mirror", { onlySqlite: true });
const newSink = SINKS.SQLite ?? expect.fail();

const HOUR_MS = 3_600_000;
const RESOURCES = ["items", "lots", "stockLevels"] as const;

/** A service with some records that are an hour old, and a mirror of it. */
function setUp(behaviour: Partial<ServiceBehaviour> = {}, options: Partial<MirrorOptions> = {}) {
  const service = new ChangingService(seededRandom(4), behaviour);
  for (let left = 30; left > 0; left -= 1) service.addItem();
  for (let left = 300; left > 0; left -= 1) service.addLot();
  service.advance(HOUR_MS);
  const sink = newSink();
  const client = service.client();
  const create = (more: Partial<MirrorOptions> = {}) => createMirror({ client, sink, ...options, ...more });
  const expectEqual = async () => {
    for (const resource of RESOURCES)
      expect(await recordsIn(sink, resource), resource).toEqual(new Map(service.records(resource)));
  };
  return { service, sink, create, mirror: create(), expectEqual };
}

/** Runs a mirror, and returns how it read each list, according to the progress that it reported. */
async function modesOf(mirror: ReturnType<typeof createMirror>, options: { full?: boolean } = {}): Promise<string[]> {
  const modes = new Map<string, MirrorProgress["mode"][]>();
  const onProgress = ({ resource, mode }: MirrorProgress) => {
    const before = modes.get(resource) ?? [];
    if (before.at(-1) !== mode) modes.set(resource, [...before, mode]);
  };
  await mirror.run({ ...options, onProgress });
  return RESOURCES.map((name) => (modes.get(name) ?? []).join("+"));
}

describe("the first run", () => {
  it("copies everything, discontinued items too, and reports", async () => {
    const { service, mirror, expectEqual } = setUp();
    service.discontinueItem();
    const report = await mirror.run();
    await expectEqual();
    expect(report).toMatchObject({ changed: 0, removed: 0 });
    expect(report.resources.lots).toMatchObject({ added: 300, inCopy: 300, beganAgain: false });
    expect(report.added).toBe(report.records);
  });

  it("begins again after an interruption, says so, and is equal then, whatever has changed meanwhile", async () => {
    const { service, mirror, expectEqual } = setUp({ maxPageSize: 50 });
    const stop = new AbortController();
    const onProgress = ({ resource, received }: MirrorProgress) => {
      if (resource === "lots" && received >= 100) stop.abort(new Error("enough"));
    };
    await expect(mirror.run({ signal: stop.signal, onProgress })).rejects.toThrow("enough");
    expect(statusOf(await mirror.status(), "lots")).toMatchObject({ asOf: null, error: null });
    expect(statusOf(await mirror.status(), "lots").records).toBeGreaterThanOrEqual(100);
    for (let left = 20; left > 0; left -= 1) service.removeLot();
    service.describeItem();
    const progress: MirrorProgress[] = [];
    const { resources } = await mirror.run({ onProgress: (one) => void progress.push(one) });
    await expectEqual();
    expect(resources.lots).toMatchObject({ beganAgain: true });
    expect(progress.find(({ resource }) => resource === "lots")).toMatchObject({ received: 50, beganAgain: true });
    expect((await mirror.run()).resources.lots?.beganAgain).toBe(false);
  });
});

describe("an increment", () => {
  it("of a quiet copy costs a request per list", async () => {
    const { mirror } = setUp();
    await mirror.run();
    for (let run = 0; run < 3; run += 1)
      expect(await mirror.run()).toMatchObject({ requests: 3, added: 0, changed: 0 });
  });

  it("reads what was modified, and moves asOf once a full pass has proved that it lists all changes", async () => {
    const { service, mirror, expectEqual } = setUp();
    await mirror.run();
    const first = statusOf(await mirror.status(), "lots");
    expect(first).toMatchObject({ increments: null });
    service.advance(HOUR_MS);
    service.changeLot();
    expect(await modesOf(mirror)).toEqual(["increment", "increment", "increment"]);
    await expectEqual();
    expect(statusOf(await mirror.status(), "lots")).toMatchObject({ increments: null, asOf: first.asOf });
    service.changeLot();
    service.changeItem();
    expect(await modesOf(mirror, { full: true })).toEqual(["full+increment", "full+increment", "full+increment"]);
    const proved = await mirror.status();
    expect(proved.map(({ increments }) => increments)).toEqual([true, true, true]);
    service.advance(HOUR_MS);
    service.addLot();
    await mirror.run();
    await expectEqual();
    const [was, is] = [statusOf(proved, "lots"), statusOf(await mirror.status(), "lots")];
    expect(Math.abs((is.asOf ?? 0) - (was.asOf ?? 0) - HOUR_MS)).toBeLessThan(1_000);
    expect(is.fullPassAt).toBe(was.fullPassAt);
  });

  it("has a status of whole numbers: a column of PostgreSQL refuses fractions, SQLite does not", async () => {
    const { mirror, service } = setUp();
    for (let run = 0; run < 3; run += 1) {
      await mirror.run({ full: run === 2 });
      service.changeLot();
      const numbers = (await mirror.status()).flatMap((row) => Object.values(row).filter(Number.isFinite));
      expect(numbers.length).toBeGreaterThan(6);
      expect(numbers.filter((value) => !Number.isInteger(value))).toEqual([]);
    }
  });

  it.each([
    ["ignored", false, "full"],
    ["refused", false, "full"],
    ["empty", false, "full"],
    ["fails", null, "full"],
    ["received", null, "increment"],
  ] as const)("is given up for good for a list whose modifiedSince is %s", async (filter, known, modes) => {
    const modifiedSince = { items: "honoured", lots: filter, stockLevels: "honoured" } as const;
    const { service, sink, mirror, expectEqual } = setUp({ modifiedSince });
    await mirror.run();
    expect((await mirror.status()).map(({ increments }) => increments)).toEqual([null, known, null]);
    service.advance(HOUR_MS);
    service.changeLot();
    service.removeLot();
    expect(await modesOf(mirror)).toEqual(["increment", modes, "increment"]);
    expect(statusOf(await mirror.status(), "lots").increments).toBe(filter === "received" ? null : false);
    await mirror.run({ full: true });
    await expectEqual();
    expect(statusOf(await mirror.status(), "lots").increments).toBe(false);
    service.changeLot();
    service.removeLot();
    expect(await modesOf(mirror)).toEqual(["increment", "full", "increment"]);
    expect(await recordsIn(sink, "lots")).toEqual(service.records("lots"));
  });

  it("is not doubted for a record that was removed after the full pass had read it, whatever was added or is not listed", async () => {
    const { service, mirror } = setUp();
    await mirror.run();
    service.advance(HOUR_MS);
    service.addLot();
    const newest = Math.max(...[...service.records("lots").keys()].map(Number));
    service.beforePage = (path) => {
      if (!path.startsWith("/Inventory?") || !path.includes("modifiedSince") || path.includes("pageSize=1&")) return;
      service.hideLots(({ recNo }) => recNo === newest);
      service.addLot();
    };
    service.isUnlisted = ({ recNo }) => recNo === 5;
    await mirror.run({ full: true });
    expect(statusOf(await mirror.status(), "lots").increments).toBe(null);
  });

  it("is followed by a full pass if the service's clock was set back", async () => {
    const { service, mirror, expectEqual } = setUp();
    await mirror.run();
    service.advance(-5 * HOUR_MS);
    service.changeLot();
    expect(await modesOf(mirror)).toEqual(["increment+full", "increment+full", "increment+full"]);
    await expectEqual();
  });
});

describe("asOf", () => {
  it.each([-400, 400])("is of the clock that is behind, %d days from this machine's", async (days) => {
    const startsAt = Date.now() + days * 24 * HOUR_MS;
    const { mirror } = setUp({ startsAt });
    const startedAt = Date.now();
    await mirror.run();
    for (const { asOf, lagMs, fullPassAt } of await mirror.status()) {
      const expected = days < 0 ? startsAt + HOUR_MS : startedAt;
      expect(Math.abs((asOf ?? 0) - expected)).toBeLessThan(10_000);
      expect(fullPassAt).toBe(asOf);
      expect(Math.abs((lagMs ?? 0) - (Date.now() - expected))).toBeLessThan(10_000);
    }
  });
});

describe("a full pass", () => {
  it("is made when fullPassEveryMs has passed, after the changes of all lists were read", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const { service, mirror, expectEqual } = setUp();
      await mirror.run();
      service.changeItem();
      service.changeLot();
      await mirror.run({ full: true });
      vi.setSystemTime(Date.now() + 22 * HOUR_MS);
      service.removeLot();
      expect(await modesOf(mirror)).toEqual(["increment", "increment", "increment"]);
      vi.setSystemTime(Date.now() + 2 * HOUR_MS);
      service.requests.length = 0;
      expect(await modesOf(mirror)).toEqual(["increment+full", "increment+full", "increment+full"]);
      await expectEqual();
      const kinds = service.requests.map(({ search }) => search.includes("modifiedSince"));
      expect(kinds.slice(0, 3)).toEqual([true, true, true]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a list that fails", () => {
  it("stops no other, in full passes and increments, and the status says which, since when, and why", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const pass = () => vi.setSystemTime(Date.now() + 1_100);
    const sandbox = createSandbox({ rateLimit: false, items: 10, lots: 40 });
    const { baseUrl, credentials, fetch } = sandbox;
    const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false, retry: false });
    const mirror = createMirror({ client, sink: newSink(), warehouses: [1, 3], fullPassEveryMs: 1_000 });
    await mirror.run();
    const before = await mirror.status();
    pass();
    sandbox.addFault({ path: "/Inventory/StockLevels/3", fault: 403 });
    const failedAt: unknown[] = [];
    for (let run = 0; run < 3; run += 1) {
      pass();
      const startedAt = Date.now();
      await expect(mirror.run()).rejects.toMatchObject({ name: "PermissionError" });
      const status = await mirror.status();
      for (const list of status.filter(({ wID }) => wID !== 3)) {
        expect(list).toMatchObject({ error: null, failedSince: null });
        expect(list.asOf).toBeGreaterThan(startedAt - 1_200);
        expect(list.fullPassAt).toBe(list.asOf);
      }
      const forbidden = statusOf(status, "warehouseStockLevels", 3);
      expect(forbidden.error).toMatch(/^PermissionError: GET \/Inventory\/StockLevels\/3: 403 /);
      expect(forbidden.asOf).toBe(statusOf(before, "warehouseStockLevels", 3).asOf);
      failedAt.push(forbidden.failedSince);
    }
    expect(new Set(failedAt).size).toBe(1);
    sandbox.clearFaults();
    await mirror.run();
    expect(statusOf(await mirror.status(), "warehouseStockLevels", 3)).toMatchObject({
      error: null,
      failedSince: null,
    });
  });

  it("is retried while connections break, so that a run ends well", async () => {
    const { service, mirror, expectEqual } = setUp({ maxPageSize: 50 });
    const failures = new Map<string, number>();
    service.beforePage = (path) => {
      const failed = failures.get(path) ?? 0;
      failures.set(path, failed + 1);
      if (failed < 7) throw new TypeError("fetch failed");
    };
    await mirror.run();
    await expectEqual();
  });

  it("ends the run for all if the credentials are refused, which the status shows", async () => {
    const { service, mirror, create } = setUp();
    await mirror.run();
    const fetch = vi.fn(async () => Response.json({ message: "no" }, { status: 401 }));
    const client = service.client({ fetch });
    await expect(create({ client }).run()).rejects.toMatchObject({ name: "AuthenticationError" });
    expect(fetch).toHaveBeenCalledTimes(1);
    const status = await mirror.status();
    expect(status.map(({ error }) => error?.split(":")[0])).toEqual(Array(3).fill("AuthenticationError"));
  });
});

describe("a run", () => {
  it("awaits onProgress, and ends with its error", async () => {
    const { mirror } = setUp();
    const onProgress = async () => {
      await sleep(1);
      throw new RangeError("mine");
    };
    await expect(mirror.run({ onProgress })).rejects.toThrow(new RangeError("mine"));
  });

  it("ends with the failure of a commit, although that was stored", async () => {
    const { service, sink, mirror } = setUp();
    const failure = new StorageError("the connection broke", { location: "here" });
    const database = await sink.open();
    const commit: typeof database.commit = async (...given) => {
      await database.commit(...given);
      if (service.requests.length > 0) throw failure;
    };
    vi.spyOn(sink, "open").mockResolvedValue({ ...database, commit });
    await expect(mirror.run()).rejects.toBe(failure);
  });

  it("is one at a time, and of resources that the mirror has", async () => {
    const { mirror, create } = setUp();
    const run = mirror.run();
    await expect(mirror.run()).rejects.toThrow("running already");
    await run;
    expect(Object.keys((await mirror.run({ resources: ["lots", "items"] })).resources)).toEqual(["items", "lots"]);
    await expect(create({ resources: ["items"] }).run({ resources: ["lots"] })).rejects.toThrow(InputValidationError);
  });

  it("fails, and writes nothing, when another mirror has written to the copy meanwhile", async () => {
    const { service, mirror, create } = setUp();
    await mirror.run();
    service.changeLot();
    let hasRun = false;
    const other = create();
    service.beforePage = () => {};
    const onProgress = async () => {
      if (!hasRun) await other.run();
      hasRun = true;
    };
    const run = create().run({ full: true, onProgress });
    await expect(run).rejects.toThrow(ConfigurationError);
    await expect(run).rejects.toThrow("another mirror writes");
    await mirror.run();
  });

  it("refuses a copy of another service or client ID, and names both", async () => {
    const { service, sink, mirror, create } = setUp();
    await mirror.run();
    const [before, requests] = [await recordsIn(sink, "lots"), service.requests.length];
    const other = create({ client: service.client({ baseUrl: "https://other.example/api/v1" }) });
    await expect(other.run()).rejects.toThrow(
      /belongs to the service "https:..service.test.*the client to "https:..other.example.*Use a new copy/,
    );
    const narrow = create({ client: service.client({ clientId: "narrow" }) });
    await expect(narrow.run()).rejects.toThrow(/client ID "id".*"narrow".*Use a new copy/);
    expect(service.requests).toHaveLength(requests);
    expect(await recordsIn(sink, "lots")).toEqual(before);
  });

  it("takes over the name of its service, which may then move", async () => {
    const { service, mirror, create } = setUp();
    await mirror.run();
    await create({ client: service.client({ serviceId: "acme" }) }).run();
    await create({ client: service.client({ serviceId: "acme", baseUrl: "https://other.example/api/v1" }) }).run();
    await expect(mirror.run()).rejects.toThrow('serviceId: "acme"');
  });
});

describe("a watch", () => {
  it("runs again and again until its signal aborts, and passes errors to onError", async () => {
    const { service, mirror } = setUp();
    const stop = new AbortController();
    const seen: string[] = [];
    service.beforePage = () => (seen.length === 1 ? 403 : undefined);
    await mirror.watch({
      everyMs: 1,
      resources: ["items"],
      signal: stop.signal,
      onReport: () => {
        seen.push("report");
        if (seen.length === 3) stop.abort();
      },
      onError: (error) => void seen.push(error instanceof Error ? error.name : ""),
    });
    expect(seen).toEqual(["report", "PermissionError", "report"]);
  });

  it("rejects with the error of a run, of onReport or of onError", async () => {
    const { service, mirror } = setUp();
    const fail = (message: string) => () => {
      throw new Error(message);
    };
    await expect(mirror.watch({ everyMs: 1, onReport: fail("report") })).rejects.toThrow("report");
    service.beforePage = () => 403;
    await expect(mirror.watch({ everyMs: 1 })).rejects.toThrow("403");
    await expect(mirror.watch({ everyMs: 1, onError: fail("handler") })).rejects.toThrow("handler");
  });

  it("ends at once when aborted while it waits, or before it starts", async () => {
    const { mirror } = setUp();
    const stop = new AbortController();
    const onReport = () => void setTimeout(() => stop.abort(), 5);
    await mirror.watch({ everyMs: HOUR_MS, signal: stop.signal, onReport });
    await mirror.watch({ everyMs: HOUR_MS, signal: AbortSignal.abort() });
  });
});

it.each([
  ["run", null, "mirror.run: options: Invalid input: expected object"],
  ["run", { acceptAccount: true }, "mirror.run: acceptAccount: unknown option"],
  ["watch", undefined, "mirror.watch: options: is required"],
  ["watch", { everyMs: 5, onError: {} }, "mirror.watch: onError: must be a function"],
] as const)("mirror.%s(%j) is refused", async (method, options, message) => {
  const { mirror } = setUp();
  const call: Promise<unknown> = Reflect.apply(mirror[method], mirror, [options]);
  await expect(call).rejects.toBeInstanceOf(InputValidationError);
  await expect(call).rejects.toThrow(message);
});

it.each([
  [{ sink: undefined }, "sink: must be created by sqliteSink or postgresSink"],
  [{ sink: {} }, "sink: must be created by sqliteSink or postgresSink"],
  [{ resources: ["lot"] }, "resources[0]: Invalid option"],
  [{ resources: ["warehouseStockLevels"] }, "warehouses: is required"],
  [{ warehouses: [1, 1] }, "must name each warehouse once"],
  [{ history: { days: 0 } }, "history.days: Too small"],
  [{ onEvent: () => {} }, "onEvent: unknown option"],
])("createMirror refuses %j", (options, message) => {
  const given = { client: new ChangingService(seededRandom(1)).client(), sink: sqliteSink({ path: "a" }), ...options };
  const create = () => Reflect.apply(createMirror, undefined, [given]);
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
});
