import { describe, expect, it } from "vitest";
import type { MirrorOptions } from "../../src/mirror/index.js";
import { Mirror } from "../../src/mirror/mirror.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";

const HOUR_MS = 3_600_000;

function setUp(behaviour: Partial<ServiceBehaviour> = {}, options: Partial<MirrorOptions> = {}) {
  const service = new ChangingService(seededRandom(6), behaviour);
  for (let left = 40; left > 0; left -= 1) service.addItem();
  for (let left = 400; left > 0; left -= 1) service.addLot();
  service.advance(HOUR_MS);
  const sink = new MemorySink();
  const mirror = new Mirror({ client: service.client(), sink, ...options }, 0);
  const expectEqual = () => {
    for (const resource of ["items", "lots", "stockLevels"] as const) {
      expect(sink.all(resource), resource).toEqual(service.records(resource));
    }
  };
  return { service, sink, mirror, expectEqual };
}

describe("a record that the service counts, and does not list", () => {
  it("causes one more full pass, then none", async () => {
    const { service, mirror, sink } = setUp();
    service.isUnlisted = ({ recNo }) => recNo === 17;
    const modes: unknown[] = [];
    for (let run = 0; run < 4; run += 1) {
      const { resources } = await mirror.run();
      modes.push(resources.lots?.modes);
      expect(resources.lots?.missing).toBe(1);
      service.advance(HOUR_MS);
    }
    expect(modes).toEqual([["first"], ["increment", "full"], ["increment"], ["increment"]]);
    // Removed records are noticed anyway, and found.
    service.removeLot();
    expect((await mirror.run()).removed).toBe(1);
    service.isUnlisted = () => false;
    service.touchLot(17);
    await mirror.run({ full: true });
    expect(sink.all("lots")).toEqual(service.records("lots"));
    expect((await mirror.run()).resources.lots).toMatchObject({ modes: ["increment"], missing: 0, surplus: 0 });
  });

  it("is read if the list was only cut short", async () => {
    const { service, mirror, expectEqual } = setUp();
    service.isUnlisted = ({ recNo }) => recNo > 300;
    await mirror.run();
    service.isUnlisted = () => false;
    await mirror.run();
    expectEqual();
  });
});

it("an overlap of 0 causes no full pass", async () => {
  const { service, mirror, expectEqual } = setUp({ resolutionMs: 1 }, { overlapMs: 0 });
  await mirror.run();
  for (let run = 0; run < 20; run += 1) {
    service.advance(run % 2 ? 150 : 0);
    service.changeLot();
    expect((await mirror.run()).kind).toBe("increment");
  }
  expectEqual();
});

describe("a service that dates changes hours behind its Date header", () => {
  it("shows the changes of items at once, and those of lots as soon as an item has changed", async () => {
    const { service, mirror, sink, expectEqual } = setUp({ modifiedLagMs: 3 * HOUR_MS });
    await mirror.run();
    for (let run = 0; run < 10; run += 1) {
      service.advance(5 * 60_000);
      service.changeItem();
      service.changeLot();
      expect((await mirror.run()).kind).toBe("increment");
      expect(sink.all("items")).toEqual(service.records("items"));
    }
    expectEqual();
  });

  it("whose clock is corrected is read as before", async () => {
    const behaviour = { modifiedLagMs: 3 * HOUR_MS };
    const { service, mirror, expectEqual } = setUp(behaviour);
    await mirror.run();
    service.advance(60_000);
    service.changeItem();
    await mirror.run();
    service.correctClock();
    service.changeItem();
    await mirror.run();
    service.advance(HOUR_MS);
    const { resources } = await mirror.run();
    expect(resources.lots?.records).toBe(0);
    expectEqual();
  });
});
