import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MirrorEvent, MirrorKey, MirrorRecord } from "../../src/mirror/index.js";
import { Mirror } from "../../src/mirror/mirror.js";
import { mapResources } from "../../src/mirror/tables.js";
import { MemorySink } from "../support/memory-sink.js";
import { runs } from "../support/runs.js";
import { type Random, seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";

const RESOURCES = ["items", "lots", "stockLevels"] as const;

/** Something that others do to the service, often or rarely. */
function change(service: ChangingService, random: Random): void {
  const roll = random(100);
  if (roll < 35) service.addLot();
  else if (roll < 65) service.changeLot();
  else if (roll < 75) service.removeLot();
  else if (roll < 81) service.changeItem();
  // A field that the service adds, and drops again.
  else if (roll < 85) service.changeItem({ netWeight: roll < 83 ? random(9) : undefined });
  else if (roll < 92) service.addItem();
  else if (roll < 96) service.describeItem();
  else service.discontinueItem();
}

/** A copy that is made from events only. */
class Follower {
  readonly records = mapResources(() => new Map<MirrorKey, MirrorRecord>());

  apply({ type, resource, key, record }: MirrorEvent): void {
    if (type === "gap") expect.fail("a gap");
    if (type === "removed") this.records[resource].delete(key);
    else this.records[resource].set(key, record);
  }
}

/** Recognised by its name: as a cause of ours it is a copy. */
class Killed extends Error {
  override name = "Killed";
}

const support = fc.constantFrom("honoured", "honoured", "honoured", "ignored", "refused", "fails");

const schedules = fc.record({
  seed: fc.integer(),
  items: fc.integer({ min: 0, max: 100 }),
  lots: fc.integer({ min: 0, max: 300 }),
  /** The most changes that others make before a page is cut. */
  busy: fc.constantFrom(0, 1, 3, 10),
  runs: fc.integer({ min: 1, max: 5 }),
  /** The mirror is killed about once in this many requests and commits; 0 for never. */
  killEvery: fc.constantFrom(0, 4, 15, 40),
  behaviour: fc.record({
    modifiedSince: fc.record({ items: support, lots: support, stockLevels: support }),
    sorts: fc.boolean(),
    hasDateHeader: fc.constantFrom(true, true, true, false),
    startsAt: fc.constantFrom(
      Date.parse("2026-03-01T10:00:00Z"),
      Date.parse("1999-12-31T23:59:59Z"),
      Date.parse("2031-07-01T00:00:00.500Z"),
    ),
    latenessMs: fc.constantFrom(0, 500, 20_000),
    resolutionMs: fc.constantFrom(1, 1_000),
    // Many pages of few records.
    maxPageSize: fc.constantFrom(20, 50, 250),
  }) satisfies fc.Arbitrary<ServiceBehaviour>,
});

describe("a mirror of a service that others change meanwhile", () => {
  it("equals the service after the last run, in random schedules with kills", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ seed, items, lots, busy, runs, killEvery, behaviour }) => {
        const random = seededRandom(seed);
        const service = new ChangingService(seededRandom(seed + 1), behaviour);
        for (let left = items; left > 0; left -= 1) service.addItem();
        for (let left = lots; left > 0; left -= 1) service.addLot();
        service.advance(3_600_000);
        const sink = new MemorySink();
        const follower = new Follower();
        let calm = false;
        const mayKill = () => {
          if (!calm && killEvery > 0 && random(killEvery) === 0) throw new Killed();
        };
        service.beforePage = () => {
          service.advance(random(1_500));
          if (!calm) for (let left = random(busy + 1); left > 0; left -= 1) change(service, random);
          mayKill();
        };
        sink.beforeCommit = mayKill;
        const client = service.client();
        const mirror = () =>
          new Mirror(
            {
              client,
              sink,
              warehouses: [1, 3],
              onEvent: (event) => {
                mayKill();
                follower.apply(event);
              },
            },
            0,
          );
        for (let left = runs; left > 0; left -= 1) {
          await mirror().run().catch(expectKilled);
          for (let changes = random(30); changes > 0; changes -= 1) change(service, random);
          service.advance(random(600_000));
        }
        calm = true;
        await mirror().run();
        // The list changed during the first full pass; the next run brings the copy up to date.
        const report = await mirror().run();
        for (const resource of RESOURCES) {
          expect(sink.all(resource), resource).toEqual(service.records(resource));
          expect(follower.records[resource], `events of ${resource}`).toEqual(service.records(resource));
          expect(report.resources[resource]?.inCopy).toBe(service.records(resource).size);
        }
        const levels = service.warehouseLevels(1, 3);
        expect(sink.all("warehouseStockLevels")).toEqual(levels);
        expect(follower.records.warehouseStockLevels, "events of warehouseStockLevels").toEqual(levels);
        expect(report.resources.warehouseStockLevels?.inCopy).toBe(levels.size);
      }),
      { seed: 7, numRuns: runs(250), endOnFailure: true },
    );
  });
});

/** Passes errors that were not caused by a kill. */
function expectKilled(error: unknown): void {
  for (let cause = error; cause !== undefined; cause = (cause as Error).cause)
    if ((cause as Error).name === "Killed") return;
  throw error;
}
