import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PaginationError } from "../../../src/errors/index.js";
import { type Checkpoint, Paginator, type PagingSettings } from "../../../src/paging/index.js";
import { ChangingList, changeBy, type Lot, type Random, seededRandom } from "./changing-list.js";

const ORDERS = ["rising", "falling", "shuffled"] as const;
type Order = (typeof ORDERS)[number];

function sort(list: ChangingList, order: Order, random: Random): void {
  if (order === "falling") list.lots.reverse();
  if (order !== "shuffled") return;
  for (let last = list.lots.length - 1; last > 0; last -= 1) {
    const other = random(last + 1);
    [list.lots[last], list.lots[other]] = [list.lots[other] as Lot, list.lots[last] as Lot];
  }
}

const throughJson = (checkpoint: Checkpoint | null): Checkpoint => JSON.parse(JSON.stringify(checkpoint));

interface Part {
  /** The records of the pages that were done with; those of the page that was held when the process ended are lost. */
  lots: Lot[];
  checkpoint: Checkpoint | null;
  /** What ended the iteration, if something did. */
  error?: unknown;
}

/** Reads until the process ends with page number `killedAt` in its hands, or until the list has ended. */
async function readPart(
  list: ChangingList,
  settings: Partial<PagingSettings<Lot>>,
  killedAt = Number.POSITIVE_INFINITY,
): Promise<Part> {
  const paginator = new Paginator(list.source(settings));
  const pages = paginator.pages();
  const lots: Lot[] = [];
  for (let held = 1; ; held += 1) {
    const result = await pages.next().catch((error: unknown) => ({ error }));
    const checkpoint = paginator.checkpoint();
    if ("error" in result) return { lots, checkpoint, error: result.error };
    if (result.done || held >= killedAt) {
      await pages.return?.();
      return { lots, checkpoint };
    }
    lots.push(...result.value.value);
  }
}

function expectNoneTwice(lots: Lot[]): void {
  expect(new Set(lots).size, "none twice in one iteration").toBe(lots.length);
}

function expectNoneMissed(lots: Lot[], list: ChangingList): void {
  const given = new Set(lots);
  expect(
    [...list.constant].filter((lot) => !given.has(lot)),
    "none missed",
  ).toEqual([]);
}

describe("an iteration that goes on from a checkpoint", () => {
  it("misses nothing in 1 500 random schedules with gapless, whatever happens before and after each end of a process", async () => {
    const changes = fc.record({
      remove: fc.integer({ min: 0, max: 12 }),
      insert: fc.integer({ min: 0, max: 12 }),
      burstEvery: fc.integer({ min: 5, max: 60 }),
      burst: fc.constantFrom(0, 0, 30, 300, 2_000),
      where: fc.constantFrom("anywhere", "front", "end"),
    });
    const schedule = fc.record({
      size: fc.integer({ min: 0, max: 8_000 }),
      order: fc.constantFrom(...ORDERS),
      seed: fc.integer(),
      ahead: fc.record({ readAhead: fc.constantFrom(0, 1, 5), concurrency: fc.constantFrom(1, 4, 10) }),
      pageSize: fc.constantFrom(250, 250, 100, 60),
      changes,
      meanwhile: fc.record({ changes, times: fc.constantFrom(0, 1, 10, 100) }),
      ends: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
    });
    let gaveUp = 0;
    await fc.assert(
      fc.asyncProperty(schedule, async ({ size, order, seed, ahead, pageSize, changes, meanwhile, ends }) => {
        const turns = seededRandom(seed + 1);
        const list = new ChangingList(size, { change: changeBy(changes, seededRandom(seed)), delay: () => turns(6) });
        sort(list, order, seededRandom(seed + 2));
        const changeMeanwhile = changeBy(meanwhile.changes, seededRandom(seed + 3));
        // Smaller pages than what comes at once would never get to the end.
        const settings = { gapless: true, pageSize: changes.burst > 300 ? 250 : pageSize, ...ahead };
        const all: Lot[] = [];
        let from: Checkpoint | undefined;
        for (const end of [...ends, ...Array<number>(5).fill(Number.POSITIVE_INFINITY)]) {
          const { lots, checkpoint, error } = await readPart(list, { ...settings, from }, end);
          expectNoneTwice(lots);
          all.push(...lots);
          if (error !== undefined) {
            expect(error).toBeInstanceOf(PaginationError);
            gaveUp += 1;
          }
          from = checkpoint === null ? undefined : throughJson(checkpoint);
          if (from?.done) break;
          for (let times = 0; times < meanwhile.times; times += 1) changeMeanwhile(list);
        }
        expect(from?.done).toBe(true);
        expectNoneMissed(all, list);
      }),
      { seed: 8, numRuns: 1_500, endOnFailure: true },
    );
    expect(gaveUp, "none but lists that grow faster than they are read").toBeLessThan(5);
  }, 120_000);
});
