import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ConfigurationError, InputValidationError } from "../../src/index.js";
import type { MirrorEvent, MirrorOptions, MirrorProgress } from "../../src/mirror/index.js";
import { Mirror } from "../../src/mirror/mirror.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";

const HOUR_MS = 3_600_000;

/** A mirror that does not wait long for the confirmation of many removals. */
const createMirror = (options: MirrorOptions) => new Mirror(options, 20);

interface Setting extends Partial<ServiceBehaviour> {
  items?: number;
  lots?: number;
  options?: Partial<MirrorOptions>;
}

/** A service with some records that are an hour old, and a mirror of it. */
function setUp({ items = 30, lots = 700, options = {}, ...behaviour }: Setting = {}) {
  const service = new ChangingService(seededRandom(3), behaviour);
  for (let left = items; left > 0; left -= 1) service.addItem();
  for (let left = lots; left > 0; left -= 1) service.addLot();
  service.advance(HOUR_MS);
  const sink = new MemorySink();
  const events: MirrorEvent[] = [];
  const onEvent = (event: MirrorEvent) => void events.push(event);
  const mirror = createMirror({ client: service.client(), sink, onEvent, ...options });
  const expectEqual = () => {
    for (const resource of ["items", "lots", "stockLevels"] as const) {
      expect(sink.all(resource), resource).toEqual(service.records(resource));
    }
  };
  return { service, sink, events, mirror, expectEqual };
}

/** The same after a first run that was interrupted when it had read half of the lots. */
async function setUpInterrupted(behaviour: Partial<ServiceBehaviour> = {}) {
  const set = setUp({ lots: 2_000, ...behaviour });
  const { service, sink, mirror } = set;
  service.beforePage = (request) => {
    if (request.includes("/Inventory?") && sink.all("lots").size >= 1_000) throw new Error("interrupted");
  };
  await expect(mirror.run()).rejects.toThrow();
  service.beforePage = () => {};
  return set;
}

const IGNORED = { modifiedSince: { items: "ignored", lots: "ignored", stockLevels: "ignored" } } as const;

describe("the first run", () => {
  it("saves how long the full pass took, which limits the next one out of turn", async () => {
    const { mirror, sink } = setUp({ lots: 50 });
    const startedAt = performance.now();
    await mirror.run();
    const tookMs = performance.now() - startedAt;
    const { durationMs } = JSON.parse(String(sink.state)).lists.lots.lastPass;
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(durationMs).toBeLessThanOrEqual(tookMs);
  });

  it("copies everything, emits an event for each record, and reports", async () => {
    const { service, mirror, events, expectEqual } = setUp();
    const report = await mirror.run();
    expectEqual();
    expect(events.filter(({ type }) => type === "added")).toHaveLength(report.added);
    expect(report).toMatchObject({ kind: "full", changed: 0, removed: 0, quotaUsed: 0 });
    expect(report.records).toBe(report.added);
    expect(report.requests).toBe(service.requests.length);
    expect(report.resources.lots).toMatchObject({
      modes: ["first"],
      added: 700,
      inCopy: 700,
      pages: 3,
      honoursModifiedSince: true,
      surplus: 0,
      awaitsFullPass: false,
    });
    for (const { durationMs = 0 } of Object.values(report.resources)) {
      expect(durationMs).toBeGreaterThan(0);
      expect(durationMs).toBeLessThanOrEqual(report.durationMs);
    }
  });

  it("copies only the resources that were requested", async () => {
    const { service, mirror, sink } = setUp({ options: { resources: ["stockLevels"] } });
    const report = await mirror.run();
    expect(Object.keys(report.resources)).toEqual(["stockLevels"]);
    expect(sink.all("lots").size).toBe(0);
    expect(new Set(service.requests.map((request) => request.split("?")[0]))).toEqual(
      new Set(["/Inventory/StockLevels"]),
    );
  });

  it("lists discontinued items too", async () => {
    const { service, mirror, sink } = setUp({ lots: 0 });
    service.discontinueItem();
    await mirror.run();
    expect([...sink.all("items").values()].filter((item) => "discontinued" in item && item.discontinued)).toHaveLength(
      1,
    );
  });

  it("begins again after an interruption, and is equal then, whatever has changed or was removed meanwhile", async () => {
    for (const behaviour of [{}, IGNORED]) {
      const { service, mirror, expectEqual } = await setUpInterrupted(behaviour);
      service.advance(HOUR_MS);
      service.describeItem();
      for (let left = 50; left > 0; left -= 1) service.changeLot();
      for (let left = 30; left > 0; left -= 1) service.removeLot();
      const { resources } = await mirror.run();
      expectEqual();
      expect(resources.lots?.modes[0]).toBe("first");
    }
  });

  it("treats rows without a state as old", async () => {
    const { service, sink, mirror, expectEqual } = setUp();
    await mirror.run();
    sink.forget();
    for (let left = 5; left > 0; left -= 1) service.removeLot();
    const { resources } = await mirror.run();
    expectEqual();
    expect(resources.lots).toMatchObject({ inCopy: 695, removed: 5, added: 0 });
    expect((await mirror.run()).kind).toBe("increment");
  });

  it("is still due if it was interrupted", async () => {
    const { service, mirror, expectEqual } = setUp({ lots: 2_000 });
    await mirror.run();
    service.advance(HOUR_MS);
    service.describeItem();
    let left = 5;
    service.beforePage = (request) => {
      if (!request.includes("/Inventory?") || request.includes("modifiedSince")) return;
      left -= 1;
      if (left < 0) throw new Error("interrupted");
    };
    await expect(mirror.run()).rejects.toThrow();
    service.beforePage = () => {};
    const { resources } = await mirror.run();
    expect(resources.lots?.modes).toContain("full");
    expectEqual();
  });
});

describe("an increment", () => {
  it("reads little, and reports which fields changed", async () => {
    const { service, mirror, events, expectEqual } = setUp();
    await mirror.run();
    service.advance(HOUR_MS);
    events.length = 0;
    const request = service.requests.length;
    service.changeItem({ uOM: "KG" });
    const report = await mirror.run();
    expectEqual();
    expect(report).toMatchObject({ kind: "increment", added: 0, changed: 1, removed: 0, records: 1 });
    expect(report.requests).toBe(6);
    expect(service.requests.length - request).toBe(6);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: "changed", resource: "items", record: { uOM: "KG" } });
    const changes = events[0]?.type === "changed" ? events[0].changes : [];
    expect(changes.map(({ field }) => field).sort()).toEqual(["modified", "uOM"]);
    expect(changes).toContainEqual({ field: "uOM", before: "EA", after: "KG" });
  });

  it("finds changes in the same second as its beginning, and changes that show late", async () => {
    const { service, mirror, expectEqual } = setUp({ resolutionMs: 1_000, latenessMs: 20_000 });
    await mirror.run();
    for (let round = 0; round < 20; round += 1) {
      service.changeLot();
      service.changeItem();
      await mirror.run();
      expectEqual();
    }
  });

  it.each([-400, 0.1, 400])("is based on the service's clock, %d days from this machine's", async (days) => {
    const { service, mirror, expectEqual } = setUp({ startsAt: Date.now() + days * 24 * HOUR_MS });
    await mirror.run();
    service.changeLot();
    const report = await mirror.run();
    expectEqual();
    expect(report.kind).toBe("increment");
  });

  it("is not possible if responses have no Date header", async () => {
    const { service, mirror, expectEqual } = setUp({ hasDateHeader: false });
    await mirror.run();
    service.changeLot();
    expect((await mirror.run()).kind).toBe("full");
    expectEqual();
  });

  it.each([
    "ignored",
    "refused",
    "fails",
  ] as const)("is replaced by a full pass if modifiedSince is %s", async (lots) => {
    const { service, mirror, expectEqual } = setUp({
      modifiedSince: { items: "honoured", lots, stockLevels: "honoured" },
    });
    await mirror.run();
    for (let round = 0; round < 3; round += 1) {
      service.changeLot();
      service.removeLot();
      const { resources } = await mirror.run();
      expectEqual();
      expect(resources.lots).toMatchObject({ modes: ["full"], removed: 1 });
      expect(resources.lots?.honoursModifiedSince).toBe(lots === "fails" ? null : false);
      expect(resources.items?.modes).toEqual(["increment"]);
    }
    const probes = service.requests.filter(
      (request) => request.startsWith("/Inventory?") && request.includes("modifiedSince="),
    );
    if (lots !== "fails") expect(probes, "probed once").toHaveLength(lots === "ignored" ? 1 : 1);
  });

  it("is followed by a full pass if the service's clock is set back, or was wrong", async () => {
    const { service, mirror, expectEqual } = setUp({ startsAt: Date.parse("2026-06-01T02:00:00Z") });
    await mirror.run();
    service.advance(-2 * HOUR_MS);
    service.advance(10 * 60_000);
    service.changeLot();
    service.advance(20 * 60_000);
    expect((await mirror.run()).kind).toBe("full");
    expectEqual();
    // Increments that missed a change are not used again until one has listed all changes.
    service.changeLot();
    expect((await mirror.run()).resources.lots).toMatchObject({ modes: ["full", "increment"] });
    service.changeLot();
    expect((await mirror.run()).kind).toBe("increment");
    expectEqual();
  });

  it("is followed by a full pass if records appear without a new date", async () => {
    const { service, mirror, expectEqual } = setUp();
    service.hideLots((lot) => lot.wID === 2);
    await mirror.run();
    service.advance(HOUR_MS);
    service.hideLots(() => false);
    const { resources } = await mirror.run();
    expectEqual();
    expect(resources.lots?.modes.slice(0, 3)).toEqual(["increment", "increment", "full"]);
  });

  it("is given up if modifiedSince does not list all changes", async () => {
    const { service, mirror, expectEqual } = setUp({
      modifiedSince: { items: "honoured", lots: "received", stockLevels: "honoured" },
    });
    await mirror.run();
    for (let round = 0; round < 2; round += 1) {
      service.advance(HOUR_MS);
      service.changeLot();
      await mirror.run({ full: true });
      expectEqual();
      service.changeLot();
    }
    const { resources } = await mirror.run();
    expectEqual();
    expect(resources.lots).toMatchObject({ modes: ["full"], honoursModifiedSince: false });
  });

  it("reads all lots when the description of an item has changed, which they show", async () => {
    const { service, mirror, expectEqual } = setUp();
    await mirror.run();
    service.advance(HOUR_MS);
    service.describeItem();
    const { resources } = await mirror.run();
    expectEqual();
    expect(resources.lots?.modes).toEqual(["increment", "full"]);
    expect(resources.lots?.honoursModifiedSince, "the increment of lots was not at fault").toBe(true);
    expect((await mirror.run()).kind).toBe("increment");
  });
});

describe("a record that the service has removed", () => {
  it("is noticed by the count, and found by a full pass", async () => {
    const { service, mirror, events, expectEqual } = setUp();
    await mirror.run();
    events.length = 0;
    const before = service.records("lots");
    service.removeLot();
    service.addLot();
    service.advance(HOUR_MS);
    const { resources } = await mirror.run();
    expectEqual();
    expect(resources.lots).toMatchObject({ modes: ["increment", "full"], added: 1, removed: 1, surplus: 0 });
    const removed = [...before.values()].find(({ recNo }) => !service.records("lots").has(recNo));
    expect(events).toContainEqual({ type: "removed", resource: "lots", key: removed?.recNo, record: removed });
  });

  it("is found by a full pass at an interval", async () => {
    const { mirror, service } = setUp({ options: { fullPassEveryMs: 1 } });
    await mirror.run();
    service.removeLot();
    await delay(5);
    expect((await mirror.run()).resources.lots).toMatchObject({ modes: ["increment", "full"], removed: 1 });
  });

  it("is not looked for in lists that show fewer records than they count, which is reported", async () => {
    const { service, mirror, sink, events } = setUp({ ...IGNORED, sorts: false });
    const reports = [await mirror.run()];
    service.shuffles = true;
    for (let run = 0; run < 5; run += 1) reports.push(await mirror.run({ full: true }));
    expect(events.some(({ type }) => type === "removed")).toBe(false);
    expect(sink.all("lots").size).toBe(700);

    const late = setUp({ ...IGNORED, sorts: false });
    late.service.shuffles = true;
    const { resources } = await late.mirror.run();
    const missing = 700 - late.sink.all("lots").size;
    expect(missing).toBeGreaterThan(0);
    expect(resources.lots).toMatchObject({ missing, awaitsFullPass: true });
    late.service.shuffles = false;
    expect((await late.mirror.run()).resources.lots).toMatchObject({ missing: 0, awaitsFullPass: false });
    late.expectEqual();
  });

  it("is never concluded from an interrupted full pass", async () => {
    const { service, mirror, sink, events } = setUp({ lots: 3_000, ...IGNORED });
    await mirror.run();
    const pages = [1, 4, 9];
    for (const page of pages) {
      let seen = 0;
      service.beforePage = (request) => {
        if (request.startsWith("/Inventory?")) seen += 1;
        if (seen > page) throw new Error("interrupted");
      };
      await expect(mirror.run()).rejects.toThrow();
      expect(sink.all("lots").size).toBe(3_000);
    }
    expect(events.some(({ type }) => type === "removed")).toBe(false);
  });

  it("needs a second pass if a list comes empty, and returns with the list", async () => {
    const { service, mirror, sink, expectEqual } = setUp();
    await mirror.run();
    service.hideLots(() => true);
    const { resources } = await mirror.run({ allowRemovals: true });
    expect(resources.lots).toMatchObject({ modes: ["increment", "full", "full"], removed: 700 });
    expect(sink.all("lots").size).toBe(0);
    service.hideLots(() => false);
    await mirror.run();
    expectEqual();
  });

  it("needs a second pass if lists are not sorted by key", async () => {
    const { service, mirror, expectEqual } = setUp({ ...IGNORED, sorts: false });
    await mirror.run();
    service.removeLot();
    const { resources } = await mirror.run();
    expectEqual();
    expect(resources.lots?.modes).toEqual(["full", "full"]);
  });
});

describe("events", () => {
  it("are awaited, one at a time, and the copy has their record", async () => {
    let atOnce = 0;
    let most = 0;
    const { sink, mirror } = setUp({
      items: 5,
      lots: 20,
      options: {
        onEvent: async ({ resource, record }) => {
          if (resource === undefined) return expect.fail("a gap");
          atOnce += 1;
          most = Math.max(most, atOnce);
          await delay(1);
          const key = "recNo" in record ? record.recNo : record.partNo;
          expect(sink.all(resource).get(key)).toEqual(record);
          atOnce -= 1;
        },
      },
    });
    await mirror.run();
    expect(most).toBe(1);
  });

  it("are emitted again when the listener fails, and none is lost", async () => {
    const received: number[] = [];
    let left = 10;
    const { sink, mirror } = setUp({
      items: 0,
      lots: 600,
      options: {
        resources: ["lots"],
        onEvent: ({ record }) => {
          if (left === 0) throw new Error("listener");
          left -= 1;
          received.push(record && "recNo" in record ? record.recNo : 0);
        },
      },
    });
    await expect(mirror.run()).rejects.toThrow("listener");
    expect(sink.all("lots").size).toBe(250);
    left = 10_000;
    await mirror.run();
    expect(new Set(received).size).toBe(600);
    expect(received.length).toBe(610);
  });
});

it("an event of a field that appeared or disappeared is emitted again after a failure", async () => {
  let fail = false;
  const received: MirrorEvent[] = [];
  const { service, mirror, expectEqual } = setUp({
    options: {
      onEvent: (event) => {
        if (fail) throw new Error("listener");
        received.push(event);
      },
    },
  });
  await mirror.run();
  for (const extra of [{ netWeight: 1.5 }, { netWeight: undefined }]) {
    service.changeItem(extra);
    fail = true;
    await expect(mirror.run()).rejects.toThrow("listener");
    fail = false;
    received.length = 0;
    await mirror.run();
    expect(received.filter(({ resource }) => resource === "items")).toHaveLength(1);
  }
  expectEqual();
});

describe("a run", () => {
  it("reports progress after each page that was saved", async () => {
    const { sink, mirror } = setUp();
    const progressReports: (MirrorProgress & { saved: number })[] = [];
    await mirror.run({
      onProgress: (progress) => progressReports.push({ ...progress, saved: sink.all(progress.resource).size }),
    });
    expect(progressReports.map(({ resource, received, saved }) => [resource, received === saved])).toEqual(
      progressReports.map(({ resource }) => [resource, true]),
    );
    expect(progressReports.at(0)).toMatchObject({ resource: "items", mode: "first", received: 30, totalCount: 30 });
    expect(progressReports.filter(({ resource }) => resource === "lots").at(-1)).toMatchObject({
      received: 700,
      totalCount: 700,
    });
  });

  it("ends with the signal's reason when it aborts, and the next run continues", async () => {
    const { mirror, sink, expectEqual } = setUp({ lots: 2_000 });
    const controller = new AbortController();
    const reason = new Error("enough");
    const onProgress = ({ resource }: MirrorProgress) => resource === "lots" && controller.abort(reason);
    await expect(mirror.run({ signal: controller.signal, onProgress })).rejects.toBe(reason);
    expect(sink.all("lots").size).toBeLessThan(1_000);
    await expect(mirror.run({ signal: controller.signal })).rejects.toBe(reason);
    await mirror.run();
    expectEqual();
  });

  it("closes its sink, also when it fails", async () => {
    const { service, mirror, sink } = setUp({
      lots: 300,
      options: { onEvent: () => void expect(sink.isOpen).toBe(true) },
    });
    await mirror.run();
    expect(sink.isOpen).toBe(false);
    service.beforePage = () => {
      throw new Error("interrupted");
    };
    await expect(mirror.run()).rejects.toThrow();
    expect(sink.isOpen).toBe(false);
  });

  it("awaits onProgress, and ends with its error", async () => {
    const { mirror } = setUp();
    const onProgress = async () => {
      await delay(1);
      throw new Error("progress");
    };
    await expect(mirror.run({ onProgress })).rejects.toThrow("progress");
  });

  it("reads items before lots, in whatever order they are named", async () => {
    const { service, mirror } = setUp({ options: { resources: ["lots", "items"] } });
    await mirror.run();
    expect(service.requests.findIndex((request) => request.startsWith("/Item"))).toBe(0);
  });

  it("is one at a time", async () => {
    const { mirror } = setUp();
    const first = mirror.run();
    await expect(mirror.run()).rejects.toBeInstanceOf(ConfigurationError);
    await first;
  });

  it("refuses wrong options, and a state that it does not know", async () => {
    const { mirror, sink, service } = setUp();
    await expect(mirror.run({ ful: true } as never)).rejects.toBeInstanceOf(InputValidationError);
    await expect(mirror.watch({ everyMs: 0 })).rejects.toBeInstanceOf(InputValidationError);
    const client = service.client();
    expect(() => createMirror({ client, sink, resources: [] })).toThrow(ConfigurationError);
    expect(() => createMirror({ client, sink, resources: ["lots", "lots"] })).toThrow("once");
    expect(() => createMirror({ client: {}, sink } as never)).toThrow("client: must be an InventoryClient");
    expect(() => createMirror({ client, sink, overlap: 3 } as never)).toThrow("overlap");
    const old = new MemorySink();
    await old.commit({ resource: "lots", upsert: [], remove: [], previousState: undefined, state: '{"version":0}' });
    await expect(createMirror({ client, sink: old }).run()).rejects.toThrow("another version");
  });

  it("fails, and writes nothing, when another mirror has written to the copy meanwhile", async () => {
    const { service, sink, mirror } = setUp();
    const other = createMirror({ client: service.client(), sink });
    let commits = 0;
    let others: Promise<string> | undefined;
    sink.beforeCommit = () => {
      commits += 1;
      // It starts again from the state of the first mirror, which has written since; then one of the two gives up.
      if (commits === 2) others = outcomeOf(other.run());
    };
    const outcomes = [await outcomeOf(mirror.run()), await others];
    expect(outcomes).toContain("another mirror writes to this copy");
  });

  it("starts again if the last commit of a killed process arrives after the copy was opened", async () => {
    const { service, sink, mirror, expectEqual } = setUp();
    await mirror.run();
    service.changeLot();
    const state = sink.state;
    let last = true;
    service.beforePage = () => {
      if (!last) return;
      last = false;
      void sink.commit({ resource: "lots", upsert: [], remove: [], previousState: state, state: `${state} ` });
    };
    await mirror.run();
    expectEqual();
  });

  it("reads the changes of all lists before it reads one completely", async () => {
    const { service, mirror, sink } = setUp({ options: { fullPassEveryMs: 1 } });
    await mirror.run();
    service.advance(HOUR_MS);
    service.changeLot();
    await delay(5);
    let pages = 0;
    service.beforePage = (request) => {
      if (!request.includes("modifiedSince")) pages += 1;
      if (pages > 2) throw new Error("interrupted");
    };
    await expect(mirror.run()).rejects.toThrow();
    for (const resource of ["lots", "stockLevels"] as const) {
      expect(sink.all(resource), resource).toEqual(service.records(resource));
    }
  });
});

describe("a watch", () => {
  it("runs again and again until its signal aborts", async () => {
    const { service, mirror, expectEqual } = setUp({ lots: 50 });
    const controller = new AbortController();
    const added: number[] = [];
    await mirror.watch({
      everyMs: 5,
      signal: controller.signal,
      onReport: (report) => {
        added.push(report.added);
        if (added.length === 3) controller.abort();
        else service.addLot();
      },
    });
    expect(added, "the lot, and once the stock level of its item").toHaveLength(3);
    expectEqual();
  });

  it("ends with the error of a run, or passes it to onError and continues", async () => {
    const { service, mirror } = setUp({ lots: 50 });
    service.beforePage = () => {
      throw new Error("interrupted");
    };
    await expect(mirror.watch({ everyMs: 5 })).rejects.toThrow();
    const controller = new AbortController();
    let errors = 0;
    const onError = () => {
      errors += 1;
      service.beforePage = () => {};
    };
    await mirror.watch({ everyMs: 5, signal: controller.signal, onError, onReport: () => controller.abort() });
    expect(errors).toBe(1);
  });

  it("ends at once when aborted while it waits, or before it starts", async () => {
    const { service, mirror } = setUp({ lots: 50 });
    const controller = new AbortController();
    let reports = 0;
    const onReport = () => {
      reports += 1;
      // The watch waits for its next run then.
      setTimeout(() => controller.abort());
    };
    await mirror.watch({ everyMs: HOUR_MS, signal: controller.signal, onReport });
    expect(reports).toBe(1);
    const { length } = service.requests;
    await mirror.watch({ everyMs: HOUR_MS, signal: controller.signal, onReport });
    expect(service.requests).toHaveLength(length);
    expect(reports).toBe(1);
  });
});

/** `done`, or the message of the error. */
const outcomeOf = (run: Promise<unknown>) =>
  run.then(
    () => "done",
    (error: Error) => error.message,
  );
