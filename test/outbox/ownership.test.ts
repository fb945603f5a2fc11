import { describe, expect, it, onTestFinished, vi } from "vitest";
import { newEntry } from "../../src/outbox/new-entries.js";
import { EntryCommits } from "../../src/outbox/run/commits.js";
import { Lease, Leases } from "../../src/outbox/run/lease.js";
import { AttemptOutdated, Interrupted } from "../../src/outbox/run/outcome.js";
import { emptyData, memoryStore } from "../../src/outbox/stores/memory-store.js";
import { monotonicNowMs } from "../../src/shared/time/clock.js";
import { world } from "../plan/support.js";
import { useCountedTimers } from "../support/own-timers.js";

const MINUTE_MS = 60_000;
const receipt = (key: string) =>
  newEntry(
    "test",
    { key, operation: "receive", input: { itemID: "A", units: 1, wid: 1, reasonCode: 1 } },
    undefined,
    [],
  );

/** A store with an entry, whose lane is leased by "one". */
async function leased(leaseMs = MINUTE_MS) {
  const store = memoryStore(emptyData());
  await store.open();
  await store.add([receipt("k")]);
  const commitsOf = (owner: string) => new EntryCommits(store, { owner, patienceMs: 0, onStored: () => {} });
  const [lane] = await store.claim({ owner: "one", leaseMs, limit: 1, except: [] });
  if (!lane) throw new Error("nothing was claimed");
  return { store, entry: lane.entry, commitsOf };
}

const START = { body: "{}", sentAt: 1, clockAheadMs: null };

describe("a process that no longer leases a lane", () => {
  it("begins no attempt", async () => {
    const { store, entry, commitsOf } = await leased();
    await expect(commitsOf("other").beginAttempt(entry, START)).rejects.toThrow(AttemptOutdated);
    expect((await store.get("k"))?.state).toBe("pending");
    expect((await commitsOf("one").beginAttempt(entry, START)).state).toBe("sending");
  });

  it("begins an attempt whose first commit has succeeded although the store failed afterwards", async () => {
    const { store, entry } = await leased();
    const update = vi.fn(store.update).mockImplementationOnce(async (...args) => {
      await store.update(...args);
      throw new Error("the response was lost");
    });
    const commits = new EntryCommits({ ...store, update }, { owner: "one", patienceMs: 0, onStored: () => {} });
    expect(await commits.beginAttempt(entry, START)).toMatchObject({ state: "sending", attempts: 1 });
    expect(await store.get("k")).toMatchObject({ state: "sending", attempts: 1 });
  });

  it("still stores that its attempt was applied, so that it is not resent", async () => {
    const { store, entry, commitsOf } = await leased();
    const sending = await commitsOf("one").beginAttempt(entry, START);
    // Another process found nothing, and concluded that the attempt was not applied.
    await store.update("k", { state: "sending", attempts: 1 }, { state: "pending" });
    const stored = await commitsOf("one").storeAttemptOutcome(sending, {
      state: "applied",
      settledAt: 2,
      result: "{}",
    });
    expect(stored.state).toBe("applied");
    expect(await store.get("k")).toMatchObject({ state: "applied", settledAt: 2 });
  });

  it("makes the entry unknown if a later attempt was sent meanwhile", async () => {
    const { store, entry, commitsOf } = await leased();
    const sending = await commitsOf("one").beginAttempt(entry, START);
    await store.update("k", { state: "sending", attempts: 1 }, { state: "sending", attempts: 2 });
    await commitsOf("one").storeAttemptOutcome(sending, { state: "applied", settledAt: 2 });
    expect(await store.get("k")).toMatchObject({ state: "unknown", attempts: 2 });
  });
});

describe("a lease", () => {
  const extended = (startedAt: number, startedAtEpoch: number) => {
    const lease = new Lease("a", new AbortController().signal);
    lease.extend({ startedAt, startedAtEpoch }, MINUTE_MS);
    return lease;
  };
  const now = () => [monotonicNowMs(), Date.now()] as const;

  it("is held until it is ended, however much time is left", () => {
    const lease = extended(...now());
    expect(lease.mayBegin).toBe(true);
    lease.end();
    expect(lease.mayBegin).toBe(false);
    expect(() => lease.assertMayBegin()).toThrow(new Interrupted("the lease of a has ended"));
  });

  it.each([
    ["the monotonic clock", [-2 * MINUTE_MS, 0]],
    ["the wall clock, as after a machine was suspended", [0, -2 * MINUTE_MS]],
  ] as const)("is over when its time is by %s", (_, [monotonic, wall]) => {
    const [atMonotonic, atWall] = now();
    const lease = extended(atMonotonic + monotonic, atWall + wall);
    expect(lease.ended.aborted).toBe(false);
    expect(lease.mayBegin).toBe(false);
    lease.dispose();
  });
});

it("a lease that is released while it is renewed leaves no timer, which would keep the process alive", async () => {
  const timers = useCountedTimers();
  const store = memoryStore(emptyData());
  await store.add([receipt("k")]);
  let renewed = () => {};
  const renew = vi.fn(() => new Promise<string[]>((resolve) => (renewed = () => resolve([]))));
  const leases = new Leases({ ...store, renew }, "me", MINUTE_MS, new AbortController().signal);
  const [claimed] = await leases.claim(1, []);
  if (!claimed) throw new Error("nothing was claimed");
  await vi.advanceTimersByTimeAsync(MINUTE_MS / 2);
  expect(renew).toHaveBeenCalledOnce();
  await leases.release(claimed.lease);
  renewed();
  await vi.advanceTimersByTimeAsync(0);
  expect(timers()).toBe(0);
});

describe("the leases of a run", () => {
  /** Its store has a lane per key, and reports which lanes it renews. */
  async function leasesOf(...keys: string[]) {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const store = memoryStore(emptyData());
    const lanes = keys.map((key) => ({ ...receipt(key), lane: key }));
    await store.add(lanes);
    const renew = vi.fn(store.renew);
    return { store, renew, leases: new Leases({ ...store, renew }, "me", MINUTE_MS, new AbortController().signal) };
  }

  it("are renewed in time, however often further lanes are claimed", async () => {
    const { leases } = await leasesOf(..."abcdefghij");
    const [first] = await leases.claim(1, []);
    for (let claims = 1; claims < 10; claims += 1) {
      await vi.advanceTimersByTimeAsync(MINUTE_MS / 6);
      await leases.claim(1, []);
    }
    expect(first?.lease.mayBegin).toBe(true);
  });

  it("end as soon as the store reports that they are lost", async () => {
    const { leases, store, renew } = await leasesOf("a", "b");
    const [lost, held] = (await leases.claim(2, [])).map(({ lease }) => lease);
    await store.release({ owner: "me", lane: "a" });
    await vi.advanceTimersByTimeAsync(MINUTE_MS / 3);
    expect(renew).toHaveBeenCalledOnce();
    expect([lost?.mayBegin, held?.mayBegin]).toEqual([false, true]);
  });
});

it("every attempt of a run begins under the owner that has leased the lane", async () => {
  const data = emptyData();
  const one = world([{ shortID: "A" }], { warehouses: [{ wID: 1, name: "Main" }] }, data);
  const outbox = one.outbox();
  await outbox.add({ key: "k", operation: "receive", input: { itemID: "A", units: 1, wid: 1, reasonCode: 1 } });
  // Another process takes the lane over right before the attempt: after a pause of this process, its lease is over.
  const lane = "a";
  let owner: string | undefined;
  const entries = data.lanes;
  const set = entries.set.bind(entries);
  entries.set = (key, value) => {
    if (key === lane && value.owner !== undefined && owner === undefined) {
      owner = value.owner;
      return set(key, { ...value, owner: "other" });
    }
    return set(key, value);
  };
  const ended = new AbortController();
  const run = outbox.run({ signal: ended.signal }).catch((error) => error);
  await expect.poll(() => owner).toBeDefined();
  await new Promise(setImmediate);
  ended.abort(new Error("over"));
  await run;
  expect(one.writes()).toEqual([]);
  expect((await outbox.get("k"))?.state).toBe("pending");
  await outbox.close();
});
