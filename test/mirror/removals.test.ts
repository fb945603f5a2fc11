import { afterEach, describe, expect, it, vi } from "vitest";
import { UnexpectedRemovalsError } from "../../src/index.js";
import type { MirrorEvent, MirrorOptions } from "../../src/mirror/index.js";
import { Mirror } from "../../src/mirror/mirror.js";
import { MemorySink } from "../support/memory-sink.js";
import { runs } from "../support/runs.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";

const CONFIRM_AFTER_MS = 60;

function setUp(lots: number, behaviour: Partial<ServiceBehaviour> = {}, options: Partial<MirrorOptions> = {}) {
  const service = new ChangingService(seededRandom(5), behaviour);
  for (let left = 40; left > 0; left -= 1) service.addItem();
  for (let left = lots; left > 0; left -= 1) service.addLot();
  service.advance(3_600_000);
  const sink = new MemorySink();
  const events: MirrorEvent[] = [];
  const mirrorOptions = { client: service.client(), sink, onEvent: (event: MirrorEvent) => void events.push(event) };
  const mirror = new Mirror({ ...mirrorOptions, ...options }, CONFIRM_AFTER_MS);
  const removals = () => events.filter(({ type }) => type === "removed").length;
  return { service, sink, mirror, events, removals };
}

describe("a list that comes empty", () => {
  it("for a moment removes nothing", async () => {
    for (const lots of [30, 3_000]) {
      const { service, sink, mirror, removals } = setUp(lots);
      await mirror.run();
      service.hideLots(() => true);
      service.beforePage = (request) => {
        if (request.includes("/Inventory?")) setTimeout(() => service.hideLots(() => false), CONFIRM_AFTER_MS / 2);
      };
      await mirror.run({ full: true });
      expect(sink.all("lots")).toEqual(service.records("lots"));
      expect(removals()).toBe(0);
    }
  });

  it("ends the run with an error that says how to confirm the removals", async () => {
    const { service, sink, mirror, removals } = setUp(300);
    await mirror.run();
    service.hideLots(() => true);
    service.changeItem();
    const error = await mirror.run().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnexpectedRemovalsError);
    expect(error).toMatchObject({ resource: "lots", removals: 300, records: 300 });
    expect(String(error)).toContain("run({ allowRemovals: true })");
    expect(sink.all("lots").size).toBe(300);
    expect(removals()).toBe(0);
    // Everything else is up to date.
    expect(sink.all("items")).toEqual(service.records("items"));
    expect(sink.all("stockLevels")).toEqual(service.records("stockLevels"));
    expect((await mirror.status()).resources.lots).toMatchObject({ records: 300, awaitsFullPass: true });
    await expect(mirror.run()).rejects.toBeInstanceOf(UnexpectedRemovalsError);
    const report = await mirror.run({ allowRemovals: true });
    expect(report.removed).toBe(300);
    expect(removals()).toBe(300);
    expect(sink.all("lots").size).toBe(0);
    service.hideLots(() => false);
    await mirror.run();
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });
});

describe("maxRemovedShare", () => {
  it.each([
    [0.2, 400, 80, false],
    [0.2, 400, 81, true],
    [0.5, 400, 81, false],
    [0, 400, 50, false],
    [0, 400, 51, true],
    [1, 400, 400, false],
    [0.2, 60, 50, false],
  ])("of %d: of %d records, %d removals end the run: %s", async (maxRemovedShare, lots, removed, ends) => {
    const { service, sink, mirror } = setUp(lots, {}, { maxRemovedShare });
    await mirror.run();
    for (let left = removed; left > 0; left -= 1) service.removeLot();
    const outcome = await mirror.run().then(
      () => "done",
      (error: Error) => error.name,
    );
    expect(outcome).toBe(ends ? "UnexpectedRemovalsError" : "done");
    expect(sink.all("lots").size).toBe(ends ? lots : lots - removed);
  });
});

it("counts a record once that a process removed before it was killed", async () => {
  const { service, sink, mirror } = setUp(4_000);
  await mirror.run();
  for (let left = 700; left > 0; left -= 1) service.removeLot();
  let isKilled = false;
  sink.beforeCommit = ({ remove }) => {
    if (isKilled) throw new Error("killed");
    isKilled = remove.length > 0;
  };
  await expect(mirror.run()).rejects.toThrow("killed");
  expect(sink.all("lots").size).toBe(3_500);
  sink.beforeCommit = () => {};
  await mirror.run();
  expect(sink.all("lots")).toEqual(service.records("lots"));
});

describe("a refusal", () => {
  it("tells removals that took place before from those that did not", async () => {
    const { service, mirror } = setUp(1_000);
    await mirror.run();
    for (const removals of [100, 101]) {
      for (let left = removals; left > 0; left -= 1) service.removeLot();
      const error = await mirror.run({ full: true }).catch((reason: unknown) => reason);
      if (removals === 100) expect(error).toMatchObject({ removed: 100 });
      else {
        expect(error).toMatchObject({ resource: "lots", removals: 201, records: 1_000 });
        expect(String(error)).toContain("no longer lists 101 of the 900 records of lots. None of them was removed");
        expect(String(error)).toContain("100 others were removed in the last seven days");
      }
    }
  });

  it("does not make later runs full passes: they refuse again by the counts", async () => {
    const { service, sink, mirror } = setUp(900);
    await mirror.run();
    const { asOf } = (await mirror.status()).resources.lots ?? {};
    for (let left = 300; left > 0; left -= 1) service.removeLot();
    await expect(mirror.run()).rejects.toBeInstanceOf(UnexpectedRemovalsError);
    for (let run = 0; run < 3; run += 1) {
      service.addLot();
      service.advance(60_000);
      const before = service.requests.length;
      const error = await mirror.run().catch((reason: unknown) => reason);
      // The lots that were added meanwhile are in the copy, too.
      const counts = { removals: 300, records: 901 + run };
      expect(error).toMatchObject({ name: "UnexpectedRemovalsError", resource: "lots", ...counts });
      const lots = service.requests.slice(before).filter((request) => request.includes("/Inventory?"));
      // An increment and a count, not the pages of the list.
      expect(lots.length).toBeLessThanOrEqual(2);
      expect((await mirror.status()).resources.lots).toMatchObject({
        awaitsFullPass: true,
        records: 901 + run,
        // Removals since then are not in the copy, whatever else is.
        asOf,
      });
    }
    await mirror.run({ allowRemovals: true });
    expect(sink.all("lots")).toEqual(service.records("lots"));
    const { lots } = (await mirror.status()).resources;
    expect(lots).toMatchObject({ awaitsFullPass: false });
    expect(lots?.asOf).toBeGreaterThan(asOf ?? Infinity);
  });

  it("ends when the service lists the records again", async () => {
    const { service, mirror } = setUp(400);
    await mirror.run();
    service.hideLots(() => true);
    await expect(mirror.run()).rejects.toBeInstanceOf(UnexpectedRemovalsError);
    service.hideLots(() => false);
    const startedAt = Date.now();
    expect(await mirror.run()).toMatchObject({ removed: 0 });
    const { lots } = (await mirror.status()).resources;
    expect(lots).toMatchObject({ awaitsFullPass: false, records: 400 });
    expect(lots?.asOf).toBeGreaterThanOrEqual(startedAt);
  });

  it("ends when the service lists the records again, though a few were removed meanwhile", async () => {
    const { service, sink, mirror } = setUp(400);
    await mirror.run();
    service.hideLots(() => true);
    await expect(mirror.run()).rejects.toBeInstanceOf(UnexpectedRemovalsError);
    service.hideLots(() => false);
    service.removeLot();
    expect(await mirror.run()).toMatchObject({ removed: 1 });
    expect(sink.all("lots")).toEqual(service.records("lots"));
    expect((await mirror.status()).resources.lots).toMatchObject({ awaitsFullPass: false, records: 399 });
  });
});

it("many small removals cannot drain a copy unnoticed", async () => {
  const { service, sink, mirror } = setUp(900);
  await mirror.run();
  const sizes: number[] = [];
  for (let night = 0; night < 6; night += 1) {
    for (let left = Math.floor(service.records("lots").size * 0.18); left > 0; left -= 1) service.removeLot();
    await mirror.run({ full: true }).catch(() => {});
    sizes.push(sink.all("lots").size);
  }
  // One fifth of 900 at the most.
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(720);
  const report = await mirror.run({ allowRemovals: true });
  expect(report.removed).toBeGreaterThan(0);
  expect(sink.all("lots")).toEqual(service.records("lots"));
  for (let left = 30; left > 0; left -= 1) service.removeLot();
  expect(await mirror.run()).toMatchObject({ removed: 30 });
});

describe("removals more than a week after the run before", () => {
  const DAY_MS = 86_400_000;
  const setDay = (day: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-01") + day * DAY_MS });
  const removeLots = (service: ChangingService, count: number) => {
    for (let left = count; left > 0; left -= 1) service.removeLot();
  };
  afterEach(() => void vi.useRealTimers());

  it("count together with those of the next days", async () => {
    const { service, mirror } = setUp(1_000);
    setDay(0);
    await mirror.run();
    setDay(8);
    removeLots(service, 190);
    expect(await mirror.run()).toMatchObject({ removed: 190 });
    setDay(9);
    removeLots(service, 160);
    await expect(mirror.run()).rejects.toMatchObject({ removals: 350, records: 1_000 });
  });

  it("count together with those of the next days, also if the process was killed meanwhile", async () => {
    const { service, sink, mirror } = setUp(4_000);
    setDay(0);
    await mirror.run();
    setDay(8);
    removeLots(service, 700);
    let isKilled = false;
    sink.beforeCommit = ({ remove }) => {
      if (isKilled) throw new Error("killed");
      isKilled = remove.length > 0;
    };
    await expect(mirror.run()).rejects.toThrow("killed");
    sink.beforeCommit = () => {};
    setDay(9);
    expect(await mirror.run()).toMatchObject({ removed: 200 });
    removeLots(service, 150);
    await expect(mirror.run()).rejects.toMatchObject({ removals: 850, records: 4_000 });
  });

  it("do not count records that the same run has added", async () => {
    const { service, sink, mirror } = setUp(1_000);
    setDay(0);
    await mirror.run();
    for (const day of [8, 9]) {
      setDay(day);
      for (let left = 100; left > 0; left -= 1) service.addLot();
      removeLots(service, 100 + (day - 8) * 60);
      await mirror.run();
    }
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });
});

it("removes no record that exists, where the order of a list changes meanwhile", async () => {
  const ignored = { items: "ignored", lots: "ignored", stockLevels: "ignored" } as const;
  for (let seed = 1; seed <= runs(20); seed += 1) {
    const random = seededRandom(seed);
    const { service, mirror, events } = setUp(150, { modifiedSince: ignored, sorts: false, maxPageSize: 25 });
    service.shuffles = true;
    service.beforePage = () => {
      if (random(3) === 0) service.addLot();
      if (random(8) === 0) service.removeLot();
    };
    for (let run = 0; run < 4; run += 1) {
      const before = new Set(service.records("lots").keys());
      events.length = 0;
      await mirror.run();
      const after = service.records("lots");
      for (const { type, resource, key } of events) {
        if (type === "removed" && resource === "lots" && before.has(key))
          expect(after.has(key), `seed ${seed}`).toBe(false);
      }
    }
  }
});
