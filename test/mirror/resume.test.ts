import { describe, expect, it } from "vitest";
import { PaginationError } from "../../src/index.js";
import type { MirrorEvent, MirrorOptions, MirrorProgress } from "../../src/mirror/index.js";
import { Mirror } from "../../src/mirror/mirror.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";

const LOTS = 4_000;
const IGNORED = { modifiedSince: { items: "honoured", lots: "ignored", stockLevels: "honoured" } } as const;

async function setUp(behaviour: Partial<ServiceBehaviour> = {}, options: Partial<MirrorOptions> = {}) {
  const service = new ChangingService(seededRandom(4), behaviour);
  for (let left = 20; left > 0; left -= 1) service.addItem();
  for (let left = LOTS; left > 0; left -= 1) service.addLot();
  service.advance(3_600_000);
  const sink = new MemorySink();
  const events: MirrorEvent[] = [];
  const onEvent = (event: MirrorEvent) => void events.push(event);
  const mirror = new Mirror({ client: service.client(), sink, onEvent, concurrency: 1, ...options }, 0);
  await mirror.run();
  /** Lets the run fail after some pages of lots. */
  const interruptAfter = (pages: number) => {
    let left = pages;
    service.beforePage = (request) => {
      if (!request.startsWith("/Inventory?") || request.includes("modifiedSince") || request.includes("pageSize=1&"))
        return;
      left -= 1;
      if (left < 0) throw new Error("interrupted");
    };
  };
  const pagesOfLots = () => service.requests.filter((request) => request.startsWith("/Inventory?")).length;
  return { service, sink, mirror, events, interruptAfter, pagesOfLots };
}

describe("a full pass that never has enough time", () => {
  it("resumes where it was, and removes what was removed before and after", async () => {
    const { service, sink, mirror, interruptAfter, pagesOfLots } = await setUp();
    for (let left = 30; left > 0; left -= 1) service.removeLot();
    interruptAfter(5);
    let runs = 0;
    const before = pagesOfLots();
    let done = false;
    while (!done) {
      runs += 1;
      expect(runs).toBeLessThan(8);
      interruptAfter(5);
      done = await mirror.run().then(
        () => true,
        () => false,
      );
      // What others do between two runs.
      if (!done) {
        service.changeLot();
        service.removeLot();
        expect((await mirror.status()).resources.lots).toMatchObject({ awaitsFullPass: true });
      }
    }
    expect(runs).toBeGreaterThan(2);
    expect(pagesOfLots() - before, "17 pages, and some for each interruption").toBeLessThan(17 + 6 * runs);
    service.beforePage = () => {};
    await mirror.run();
    expect(sink.all("lots")).toEqual(service.records("lots"));
    expect((await mirror.status()).resources.lots).toMatchObject({ awaitsFullPass: false });
  });

  it("fails with an error of the caller's, whatever its class, while it is resumed", async () => {
    const { service, mirror, interruptAfter } = await setUp();
    interruptAfter(5);
    await expect(mirror.run({ full: true })).rejects.toThrow();
    service.beforePage = () => {};
    const failure = new PaginationError("of the caller's own list");
    let pages = 0;
    const onProgress = ({ resource, mode }: MirrorProgress) => {
      if (resource !== "lots" || mode !== "full") return;
      pages += 1;
      if (pages === 1) throw failure;
    };
    await expect(mirror.run({ onProgress })).rejects.toBe(failure);
    expect(pages).toBe(1);
  });

  it("resumes also after a record that it did not see has returned", async () => {
    const { service, sink, mirror, interruptAfter, events } = await setUp();
    const hidden = [...service.records("lots").keys()].slice(0, 40);
    service.hideLots(({ recNo }) => hidden.includes(recNo));
    interruptAfter(5);
    await expect(mirror.run()).rejects.toThrow();
    service.hideLots(() => false);
    for (const recNo of hidden) service.touchLot(Number(recNo));
    service.beforePage = () => {};
    events.length = 0;
    await mirror.run();
    expect(events.filter(({ type }) => type === "removed")).toEqual([]);
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });

  it("of a list without increments says that what it read first may differ, and the next run reads it again", async () => {
    const { service, sink, mirror, interruptAfter } = await setUp(IGNORED);
    interruptAfter(5);
    await expect(mirror.run()).rejects.toThrow();
    service.beforePage = () => {};
    for (let left = 50; left > 0; left -= 1) service.changeLot();
    expect((await mirror.run()).resources.lots?.awaitsFullPass).toBe(true);
    expect((await mirror.run()).resources.lots?.awaitsFullPass).toBe(false);
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });

  it("has what changed before it was resumed, also if everything is to be read", async () => {
    const { service, sink, mirror, interruptAfter } = await setUp();
    interruptAfter(5);
    await expect(mirror.run({ full: true })).rejects.toThrow();
    service.beforePage = () => {};
    for (let left = 50; left > 0; left -= 1) service.changeLot();
    expect((await mirror.run({ full: true })).resources.lots).toMatchObject({
      modes: ["increment", "full"],
      awaitsFullPass: false,
    });
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });

  it("starts again if the list is not in the order of its keys, and removes nothing until it has ended", async () => {
    const { service, sink, mirror, interruptAfter, events } = await setUp({ ...IGNORED, sorts: false });
    service.removeLot();
    for (let run = 0; run < 3; run += 1) {
      interruptAfter(5);
      await expect(mirror.run()).rejects.toThrow();
      expect(events.filter(({ type }) => type === "removed")).toEqual([]);
    }
    service.beforePage = () => {};
    await mirror.run();
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });
});
