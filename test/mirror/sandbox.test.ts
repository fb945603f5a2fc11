import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";
import { createMirror } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { MemorySink } from "../support/memory-sink.js";
import { runs } from "../support/runs.js";
import { type Random, seededRandom } from "../unit/paging/changing-list.js";

const LISTS = ["items", "lots", "stockLevels"] as const;

/** Something that another client does. */
async function act(client: InventoryClient, random: Random, names: string[]): Promise<void> {
  const pick = () => names[random(names.length)] ?? "";
  const roll = random(10);
  if (roll < 4) {
    await client.inventory.receive({ itemID: pick(), units: 1 + random(9), wid: 1 + random(2), reasonCode: 1 });
  } else if (roll < 7) {
    const lots = await client.inventory.listLots({ page: 1 + random(3), pageSize: 5 }).page();
    const lot = lots.value.find(({ units, shipped }) => units > 0 && shipped === null);
    if (!lot) return;
    const { shortID: itemID, wID: wid, recNo: recno, units: all } = lot;
    const units = random(2) === 0 ? all : all / 2;
    if (roll < 6) await client.inventory.issue({ itemID, units, wid, recno, reasonCode: 1 }).catch(() => {});
    else await client.inventory.move({ itemID, units, wid, recno, toSpot: `Z-${random(9)}` }).catch(() => {});
  } else if (roll < 8) {
    const name = `NEW-${random(1e9)}`;
    await client.items.create({ shortID: name, description: "new", uOM: "EA" });
    names.push(name);
  } else if (roll < 9) await client.items.update(pick(), { description: `described ${random(100)}` });
  else await client.items.discontinue(pick());
}

const schedules = fc.record({
  seed: fc.integer(),
  items: fc.integer({ min: 10, max: 40 }),
  lots: fc.integer({ min: 0, max: 900 }),
  times: fc.integer({ min: 1, max: 3 }),
  /** How often others act at a request of the mirror, at most. */
  busy: fc.integer({ min: 0, max: 2 }),
  modifiedSinceOn: fc.subarray([...LISTS]),
});

describe("a mirror of the sandbox, that others change meanwhile", () => {
  it("equals it after the last increment, in random schedules", async () => {
    let sandbox = createSandbox();
    let meanwhile = async () => {};
    const service = { baseUrl: sandbox.baseUrl, ...sandbox.credentials, rateLimit: false, retry: false } as const;
    const other = new InventoryClient({ ...service, fetch: (...request) => sandbox.fetch(...request) });
    const client = new InventoryClient({
      ...service,
      fetch: async (...request) => {
        await meanwhile();
        return sandbox.fetch(...request);
      },
    });
    await fc.assert(
      fc.asyncProperty(schedules, async ({ seed, items, lots, times, busy, modifiedSinceOn }) => {
        const random = seededRandom(seed);
        let time = Date.parse("2026-05-01T00:00:00Z");
        const now = () => time;
        sandbox = createSandbox({ items, lots, seed, now, modifiedSinceOn, rateLimit: false });
        const names = (await other.items.list().toArray()).map(({ shortID }) => shortID);
        let calm = false;
        meanwhile = async () => {
          time += random(1_500);
          if (!calm) for (let left = random(busy + 1); left > 0; left -= 1) await act(other, random, names);
        };
        const sink = new MemorySink();
        const mirror = createMirror({ client, sink });
        for (let left = times; left > 0; left -= 1) {
          await mirror.run();
          time += random(600_000);
          for (let left = random(4); left > 0; left -= 1) await act(other, random, names);
        }
        calm = true;
        await mirror.run();
        const theirs = {
          items: await other.items.list({ includeDiscontinued: true }).toArray(),
          lots: await other.inventory.listLots().toArray(),
          stockLevels: await other.inventory.listStockLevels().toArray(),
        };
        for (const resource of LISTS) {
          const key = resource === "lots" ? "recNo" : "partNo";
          const byKey = new Map(theirs[resource].map((record) => [Reflect.get(record, key), record]));
          expect(sink.all(resource), resource).toEqual(byKey);
        }
      }),
      { seed: 11, numRuns: runs(250), endOnFailure: true },
    );
  });

  it("lets other calls of the same client go on: they take the slots that pages may not use", async () => {
    const sandbox = createSandbox({ items: 5, lots: 10_000, rateLimit: { requests: 20, intervalMs: 500 } });
    const client = new InventoryClient({
      baseUrl: sandbox.baseUrl,
      ...sandbox.credentials,
      fetch: sandbox.fetch,
      rateLimit: { requests: 20, intervalMs: 500, reserved: 4 },
    });
    const [item] = await client.items.list().toArray({ limit: 1 });
    let over = false;
    const run = createMirror({ client, sink: new MemorySink() }).run();
    void run.finally(() => {
      over = true;
    });
    for (let booked = 0; booked < 6; booked += 1) {
      await client.inventory.receive({ itemID: item?.shortID ?? "", units: 1, wid: 1, reasonCode: 1 });
      expect(over, "the run goes on").toBe(false);
    }
    const { quotaUsed } = await run;
    expect(quotaUsed).toBeGreaterThan(0.3);
    expect(quotaUsed).toBeLessThanOrEqual(1);
    expect(sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
  });
});
