import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { markedEntry, type NewEntry, newEntry, type StoredEntry } from "../../../src/outbox/entry.js";
import { postgresOutboxStore, sqliteOutboxStore } from "../../../src/outbox/index.js";
import type { OpenStore } from "../../../src/outbox/store.js";
import { ownFolder } from "../../support/own-folder.js";
import { findPostgres } from "../../support/postgres-server.js";
import { seededRandom } from "../../support/random.js";
import { openStore } from "../support/store-spec.js";
import { type Rows, storeMethods } from "./fake-store.js";

/*
 * The exploration uses rows in memory instead of a database. These tests verify that the methods that a run calls do the same in
 * memory and in SQL. They take each step on all stores, and compare the results and the rows.
 */

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const fileNamed = ownFolder();
let names = 0;

/** The methods that a run calls, with the asynchronous types of `OpenStore`. */
type Methods = { [Name in keyof ReturnType<typeof storeMethods>]: OpenStore[Name] };

interface TestedStore {
  methods: Methods;
  add(entries: readonly NewEntry[]): Promise<unknown>;
  rows(): Promise<unknown>;
}

const entry = (key: string, itemID: string, boundTo: string | null = null): NewEntry => ({
  ...markedEntry(
    newEntry("add", { key, operation: "receive", input: { itemID, units: 1, wid: 1, reasonCode: 1 } }, "remark", []),
    "store",
    "remark",
  ),
  boundTo,
  addedAt: 1_000,
});

const SQL = {
  SQLite: () => sqliteOutboxStore({ path: fileNamed(`${names++}.db`) }),
  PostgreSQL: () =>
    postgresOutboxStore({ connectionString: postgres?.url ?? "", schema: `conformance_${process.pid}_${names++}` }),
};

async function sqlStore(name: keyof typeof SQL): Promise<TestedStore> {
  const { store } = await openStore(SQL[name]());
  onTestFinished(() => store.database.close());
  return {
    methods: store,
    add: (entries) => store.add("add", entries),
    async rows() {
      const entries: StoredEntry[] = [];
      for await (const one of store.list({ pruned: true })) entries.push(one);
      return { entries, sender: await store.sender() };
    },
  };
}

function fakeStore(): TestedStore {
  const rows: Rows = { entries: [], sender: { sender: "", beat: 0, leaseMs: 0, settleMs: 0 } };
  const methods = storeMethods(rows);
  const asAsync = Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      async (...given: never[]) => (method as (...args: never[]) => unknown)(...given),
    ]),
  );
  return {
    methods: asAsync as never,
    async add(entries) {
      for (const one of entries) {
        const others = {
          sentAt: null,
          clockAheadMs: null,
          lastRecNo: null,
          settledAt: null,
          resolvedAt: null,
          resolvedFrom: null,
          result: null,
          error: null,
        };
        rows.entries.push({ ...one, ...others, sequence: rows.entries.length + 1, state: "pending", attempts: 0 });
      }
    },
    rows: async () => structuredClone(rows),
  };
}

type Step = (methods: Methods) => Promise<unknown>;

/** Takes steps on all stores, one after the other, and expects the same results and rows after each step. */
async function expectSameOf(stores: readonly TestedStore[], entries: readonly NewEntry[], steps: readonly Step[]) {
  for (const store of stores) await store.add(entries);
  for (const [index, step] of steps.entries()) {
    const [one, other] = await Promise.all(stores.map((store) => step(store.methods)));
    expect([index, one]).toEqual([index, other]);
    const [rows, others] = await Promise.all(stores.map((store) => store.rows()));
    expect([index, rows]).toEqual([index, others]);
  }
}

const ENTRIES = [entry("a", "A"), entry("b", "A"), entry("c", "B", "own"), entry("d", "C", "other")];
const OWN = { sender: "own", leaseMs: 40, settleMs: 20 };
const attempt = (sender: string, beat: number, sentAt = 5) => ({ sender, beat, sentAt, clockAheadMs: 7, lastRecNo: 9 });
const begin =
  (key: string, attempts: number, sender: string, beat: number, sentAt?: number): Step =>
  async (methods) =>
    methods.markSending({ ...((await methods.get(key)) as StoredEntry), attempts }, attempt(sender, beat, sentAt));

const CASES: [string, Step[]][] = [
  [
    "an attempt that begins again after its reply was lost",
    [
      async (methods) => methods.takeLock(await methods.sender(), OWN),
      begin("a", 0, "own", 1),
      begin("a", 0, "own", 1, 99),
      begin("a", 1, "own", 1),
      begin("a", 0, "own", 1),
    ],
  ],
  [
    "an attempt of another sender, behind another entry, bound to another sender, or with a later beat",
    [
      async (methods) => methods.takeLock(await methods.sender(), OWN),
      begin("a", 0, "other", 1),
      begin("a", 0, "own", 2),
      begin("b", 0, "own", 1),
      begin("c", 0, "own", 1),
      begin("d", 0, "own", 1),
      begin("none", 0, "own", 1),
    ],
  ],
  [
    "entries that are bound to another sender are canceled by the holder alone",
    [
      (methods) => methods.cancelBound("own", 9, "late"),
      async (methods) => methods.takeLock(await methods.sender(), OWN),
      (methods) => methods.cancelBound("other", 9, "late"),
      (methods) => methods.cancelBound("own", 9, "late"),
    ],
  ],
  [
    "the lock, its heartbeats and its end",
    [
      async (methods) => methods.takeLock(await methods.sender(), OWN),
      async (methods) => methods.takeLock({ ...(await methods.sender()), beat: 0 }, { ...OWN, sender: "other" }),
      (methods) => methods.heartbeat("own", 2),
      (methods) => methods.heartbeat("own", 2),
      (methods) => methods.heartbeat("own", 5),
      (methods) => methods.heartbeat("other", 3),
      (methods) => methods.releaseLock("other"),
      (methods) => methods.releaseLock("own"),
      async (methods) => methods.takeLock(await methods.sender(), { ...OWN, settleMs: 5 }),
    ],
  ],
  [
    "what is next, and what is counted",
    [
      (methods) => methods.next(10, { upTo: 9 }),
      (methods) => methods.next(1, { upTo: 9 }),
      (methods) => methods.next(10, { upTo: 1 }),
      (methods) => methods.next(10, { upTo: 9, lane: "a" }),
      (methods) => methods.change({ key: "a", state: "pending", attempts: 0 }, { state: "unknown" }),
      (methods) => methods.next(10, { upTo: 9 }),
      (methods) => methods.count(),
      (methods) => methods.countUnsettled(),
      (methods) => methods.lastPlace(),
      (methods) => methods.change({ key: "a", state: "pending", attempts: 0 }, { state: "applied" }),
      (methods) => methods.change({ key: "none", state: "pending", attempts: 0 }, { state: "applied" }),
      (methods) => methods.get("none"),
    ],
  ],
];

describe.each(Object.keys(SQL) as (keyof typeof SQL)[])("the store of the exploration does what %s does", (name) => {
  beforeEach(({ skip }) => skip(name === "PostgreSQL" && !postgres, "there is no PostgreSQL"));

  it.each(CASES)("%s", async (_, steps) => {
    await expectSameOf([fakeStore(), await sqlStore(name)], ENTRIES, steps);
  });

  it.each([1, 2, 3, 4, 5, 6])("any steps, seed %d", async (seed) => {
    const random = seededRandom(seed);
    const oneOf = <T>(values: readonly T[]): T => values[random(values.length)] as T;
    const steps = Array.from({ length: 60 }, (): Step => {
      const [key, sender] = [oneOf(["a", "b", "c", "d"]), oneOf(["own", "other"])];
      const [attempts, beat] = [oneOf([0, 1, 2]), oneOf([0, 1, 2, 3])];
      const state = oneOf(["pending", "sending", "unknown", "applied", "rejected"] as const);
      const upTo = oneOf([2, 4]);
      const from = oneOf(["pending", "sending", "unknown"] as const);
      return oneOf<Step>([
        async (methods) => methods.takeLock(await methods.sender(), { ...OWN, sender }),
        begin(key, attempts, sender, beat),
        begin(key, 0, sender, 0),
        (methods) => methods.heartbeat(sender, beat),
        (methods) => methods.releaseLock(sender),
        (methods) => methods.cancelBound(sender, 9, "late"),
        (methods) => methods.change({ key, state: from, attempts }, { state, error: "e", settledAt: 3 }),
        (methods) => methods.next(3, { upTo }),
        (methods) => methods.count(),
      ]);
    });
    await expectSameOf([fakeStore(), await sqlStore(name)], ENTRIES, steps);
  });
});
