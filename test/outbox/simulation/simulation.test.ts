import { describe, expect, it } from "vitest";
import { EXPLORES, ONLY_IN_TEST_ALL, RUN_ALL } from "../../support/runs.js";
import { explore, NO_FAULTS } from "./explore.js";
import type { EntrySpec, ExploreOptions, Faults } from "./world.js";

const RECEIPTS: EntrySpec[] = [
  { operation: "receive", item: "A" },
  { operation: "issue", item: "A" },
  { operation: "receive", item: "B" },
];
const ITEMS: EntrySpec[] = [
  { operation: "update", item: "A" },
  { operation: "receive", item: "A" },
  { operation: "create", item: "B" },
];
/** Each fault may happen once, and `all` faults in total. */
const anyOf = (all: number): Faults => ({ crash: 1, lost: 1, late: 1, stall: 1, unheard: 1, all });

const EXPLORED: [string, readonly EntrySpec[], Faults, number][] = [
  ["without a fault, two items at once", RECEIPTS, NO_FAULTS, 2],
  ["a crash, a lost response, a late effect or a stalled sender", RECEIPTS, anyOf(1), 1],
  ["a crash, a lost response and a late effect together", RECEIPTS, { ...anyOf(3), stall: 0, unheard: 0 }, 1],
  ["writes of items, with any fault", ITEMS, anyOf(1), 1],
];

/** Explorations in which an apply adds entries that only it may send, and others with rare faults. */
const BOUND: [string, ExploreOptions][] = [
  [
    "entries that are bound to an apply, with any fault",
    { specs: RECEIPTS.slice(2), bound: RECEIPTS.slice(0, 2), faults: anyOf(1) },
  ],
  [
    "entries that are bound to a sender that is gone",
    { specs: [{ operation: "issue", item: "A", boundTo: "gone" }, ...RECEIPTS.slice(0, 1)], faults: anyOf(1) },
  ],
  [
    "replies of the database that are lost, twice, while the lock is held",
    { specs: RECEIPTS.slice(0, 2), faults: { ...NO_FAULTS, unheard: 2, crash: 1, all: 2 }, leaseMs: 400 },
  ],
];

describe("two processes and three entries, two of them of one item", () => {
  it.each(
    // Several faults together take minutes.
    EXPLORED.filter(([, , faults]) => faults.all <= (EXPLORES ? Infinity : RUN_ALL ? 1 : 0)),
  )("nothing is doubled, lost, out of order or misreported: %s", async (_, specs, faults, concurrency) => {
    const { ends, wrong } = await explore({ specs, faults, concurrency });
    expect(wrong).toBeUndefined();
    expect(ends).toBeGreaterThan(1);
  });

  it.runIf(RUN_ALL).each(BOUND.filter(([, { faults }]) => EXPLORES || faults.all === 1))(
    "nothing is doubled, lost, out of order or misreported: %s",
    async (_, options) => {
      const { ends, wrong } = await explore(options);
      expect(wrong).toBeUndefined();
      expect(ends).toBeGreaterThan(1);
    },
  );

  it.runIf(RUN_ALL).each([
    ["takes over at once", { planted: { takesOverAtOnce: true } }],
    ["decides at once what is uncertain", { planted: { decidesAtOnce: true } }],
    // `settleMs` is shorter than a lease: with a longer one, a request that is late would not be sent any more.
    ["does not compare the name", { planted: { ignoresSender: true }, settleMs: 5, specs: RECEIPTS.slice(0, 1) }],
  ])("a sender that %s is found", async (_, fault) => {
    const { wrong } = await explore({ specs: RECEIPTS, faults: anyOf(1), concurrency: 1, ...fault });
    expect(wrong).toBeDefined();
  });
});

it.skipIf(RUN_ALL)(`the whole exploration: ${ONLY_IN_TEST_ALL}`, () => {});
