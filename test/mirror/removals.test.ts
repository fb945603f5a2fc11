import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { UnexpectedRemovalsError } from "../../src/index.js";
import { createMirror, type MirrorOptions } from "../../src/mirror/index.js";
import { seededRandom } from "../support/random.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";
import { recordsIn, statusOf, useCopies } from "./support/copies.js";

const { sinks: SINKS } = await useCopies("removals", { onlySqlite: true });
const newSink = SINKS.SQLite ?? expect.fail();

const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

function setUp(lots: number, behaviour: Partial<ServiceBehaviour> = {}, options: Partial<MirrorOptions> = {}) {
  const service = new ChangingService(seededRandom(5), { startsAt: Date.now() - HOUR_MS, ...behaviour });
  for (let left = 40; left > 0; left -= 1) service.addItem();
  for (let left = lots; left > 0; left -= 1) service.addLot();
  service.advance(HOUR_MS);
  const sink = newSink();
  const mirror = createMirror({ client: service.client(), sink, resources: ["items", "lots"], ...options });
  const lotsInCopy = async () => (await recordsIn(sink, "lots")).size;
  const status = async () => statusOf(await mirror.status(), "lots");
  const removeLots = (count: number) => {
    for (let left = count; left > 0; left -= 1) service.removeLot();
  };
  const pass = (time: number) => {
    service.advance(time);
    vi.setSystemTime(Date.now() + time);
  };
  return { service, sink, mirror, lotsInCopy, status, removeLots, pass };
}

const nameOf = (run: Promise<unknown>) =>
  run.then(
    () => "done",
    (error: Error) => error.name,
  );

describe("maxRemovedShare", () => {
  it.each([
    [0.2, 400, 80, false],
    [0.2, 400, 81, true],
    [0.5, 400, 81, false],
    [0, 400, 50, false],
    [0, 400, 51, true],
    [1, 400, 399, false],
    [0.2, 60, 50, false],
    [1, 400, 400, true],
    [1, 3, 3, true],
  ])("of %d: of %d records, %d removals end the run: %s", async (maxRemovedShare, lots, removed, ends) => {
    const { mirror, lotsInCopy, removeLots } = setUp(lots, {}, { maxRemovedShare });
    await mirror.run();
    removeLots(removed);
    expect(await nameOf(mirror.run({ full: true }))).toBe(ends ? "UnexpectedRemovalsError" : "done");
    expect(await lotsInCopy()).toBe(ends ? lots : lots - removed);
  });
});

describe("removals that the guard refuses", () => {
  it("end each run, with everything else up to date and nothing read again, until a full pass is due", async () => {
    const { service, sink, mirror, lotsInCopy, status, removeLots, pass } = setUp(300);
    await mirror.run();
    const before = await status();
    removeLots(100);
    service.changeItem();
    pass(HOUR_MS);
    const options = { full: true, allowRemovals: false };
    const run = mirror.run(options).catch((reason: unknown) => reason);
    options.allowRemovals = true;
    const error = await run;
    expect(error).toBeInstanceOf(UnexpectedRemovalsError);
    expect(error).toMatchObject({ resource: "lots", removals: 100, records: 300 });
    expect(String(error)).toContain("run({ allowRemovals: true })");
    expect(await recordsIn(sink, "items")).toEqual(service.records("items"));
    expect(await status()).toMatchObject({
      ...{ refused: 100, fullPassAt: before.fullPassAt, records: 300 },
      error: expect.stringMatching(/^UnexpectedRemovalsError: /),
    });
    expect((await status()).asOf).toBeGreaterThan(before.asOf ?? 0);
    for (let run = 0; run < 3; run += 1) {
      pass(HOUR_MS);
      service.requests.length = 0;
      expect(await nameOf(mirror.run())).toBe("UnexpectedRemovalsError");
      expect(service.requests.filter(({ pathname }) => pathname.endsWith("/Inventory"))).toHaveLength(1);
    }
    pass(24 * HOUR_MS);
    service.requests.length = 0;
    expect(await nameOf(mirror.run())).toBe("UnexpectedRemovalsError");
    expect(service.requests.length).toBeGreaterThan(3);
    expect((await mirror.run({ allowRemovals: true })).removed).toBe(100);
    expect(await lotsInCopy()).toBe(200);
    expect(await status()).toMatchObject({ refused: null, error: null, failedSince: null });
    expect((await status()).fullPassAt).toBe((await status()).asOf);
  });

  it("are forgotten if the records are listed again", async () => {
    const { service, sink, mirror, status } = setUp(300);
    await mirror.run();
    service.hideLots(() => true);
    expect(await nameOf(mirror.run({ full: true }))).toBe("UnexpectedRemovalsError");
    service.hideLots(() => false);
    await mirror.run({ full: true });
    expect(await status()).toMatchObject({ refused: null, error: null });
    expect(await recordsIn(sink, "lots")).toEqual(service.records("lots"));
  });
});

describe("absence", () => {
  it("is no removal of a list that is empty for a moment", async () => {
    const { service, mirror, lotsInCopy } = setUp(30);
    await mirror.run();
    service.hideLots(() => true);
    let pages = 0;
    service.beforePage = (request) => {
      if (!request.startsWith("/Inventory?")) return;
      pages += 1;
      if (pages > 1) service.hideLots(() => false);
    };
    expect((await mirror.run({ full: true, allowRemovals: true })).removed).toBe(0);
    expect(await lotsInCopy()).toBe(30);
  });

  it("of more records than before is no removal if the service counts them, until the next full pass", async () => {
    const { service, mirror, lotsInCopy, status, pass, removeLots } = setUp(300);
    await mirror.run();
    const before = await status();
    service.isUnlisted = ({ recNo }) => recNo <= 5;
    removeLots(3);
    pass(HOUR_MS);
    await mirror.run({ full: true });
    expect(await status()).toMatchObject({ records: 300, asOf: before.asOf, fullPassAt: before.fullPassAt });
    expect((await status()).unlisted).toBeGreaterThan(2);
    await mirror.run({ full: true });
    expect(await lotsInCopy()).toBe([...service.records("lots").keys()].filter((recNo) => Number(recNo) > 5).length);
    expect((await status()).fullPassAt).toBe((await status()).asOf);
  });

  it("counts in a list that is not sorted by its key if two readings agree", async () => {
    const { service, sink, mirror, removeLots } = setUp(300, { sorts: false, maxPageSize: 50 });
    await mirror.run();
    removeLots(20);
    const { resources } = await mirror.run({ full: true });
    expect(resources.lots).toMatchObject({ pages: 14, removed: 20 });
    expect(await recordsIn(sink, "lots")).toEqual(service.records("lots"));
  });

  it("does not count in one that is not sorted and lists fewer than it counts", async () => {
    const { service, mirror, lotsInCopy, status, removeLots } = setUp(300, { sorts: false, maxPageSize: 50 });
    service.isUnlisted = ({ recNo }) => recNo === 17;
    await mirror.run();
    // Both readings of the first pass have listed the same.
    expect(await status()).toMatchObject({ unlisted: 1, records: 299, asOf: expect.any(Number) });
    const before = await status();
    removeLots(20);
    for (let run = 0; run < 2; run += 1) expect((await mirror.run({ full: true })).removed).toBe(0);
    expect(await lotsInCopy()).toBe(299);
    expect((await status()).fullPassAt).toBe(before.fullPassAt);
  });

  it("proves nothing while the order changes from page to page", async () => {
    const { service, mirror, lotsInCopy, status } = setUp(300, { maxPageSize: 50 });
    service.shuffles = true;
    await mirror.run();
    expect(await status()).toMatchObject({ asOf: null });
    service.shuffles = false;
    await mirror.run();
    service.shuffles = true;
    expect((await mirror.run({ full: true })).removed).toBe(0);
    expect(await lotsInCopy()).toBe(300);
  });

  it("from an interrupted first pass is no removal to confirm: the copy was not complete", async () => {
    const { service, sink, mirror, removeLots } = setUp(300, { maxPageSize: 50 });
    let pages = 0;
    service.beforePage = () => {
      pages += 1;
      if (pages === 5) return 403;
      return undefined;
    };
    await expect(mirror.run()).rejects.toThrow("403");
    removeLots(250);
    await mirror.run();
    expect(await recordsIn(sink, "lots")).toEqual(service.records("lots"));
  });
});
