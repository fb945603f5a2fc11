import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createHoldTimings } from "../../src/redis/ledger/ledger.js";
import {
  computeOutageShare,
  createReachability,
  type LastKnownState,
  lastKnownStateOf,
} from "../../src/redis/ledger/outage.js";
import { redisKeyName } from "../../src/redis/redis-client.js";
import { errorWithoutArguments } from "../../src/redis/script.js";

describe("the part of the limit that a process uses while it is cut off from Redis", () => {
  const settings = { requests: 100, reserved: 0 };
  const timings = createHoldTimings({ intervalMs: 60_000 });
  const reply = { epoch: "a", pauseMs: 0, granted: { single: 0, bulk: 0 }, free: 100, nextMs: 0, processes: 1 };
  const justStarted = { connectedAt: 0, sentAt: 0, heldCount: 0, reply };
  const unknown = lastKnownStateOf(justStarted, 0, 0, settings, timings);
  const aloneFor = (idleMs: number) =>
    lastKnownStateOf({ ...justStarted, sentAt: 100_000 }, 0, 100_000 + idleMs, settings, timings);
  const neverConnected = lastKnownStateOf(undefined, 0, 0, settings, timings);
  const cases: [name: string, state: LastKnownState, sinceMs: number, slots: number][] = [
    ["alone, it has the whole limit", { processes: 1, heldCount: 0 }, 0, 100],
    ["one of four that holds its part keeps that", { processes: 4, heldCount: 25 }, 0, 25],
    ["one of four that holds more gives up the rest", { processes: 4, heldCount: 60 }, 0, 25],
    ["one of four that holds less uses no more at first", { processes: 4, heldCount: 15 }, 0, 15],
    ["one that holds none may use one", { processes: 4, heldCount: 0 }, 0, 1],
    ["after an interval all slots are back, and each has its part", { processes: 4, heldCount: 0 }, 60_010, 25],
    ["if it does not know how many the others are, it uses one", unknown, 0, 1],
    ["and no more later", unknown, 60_010, 1],
    ["alone until just now, it has the whole limit", aloneFor(4_999), 0, 100],
    ["if others may have been started since, it uses one", aloneFor(5_000), 0, 1],
    ["started without Redis, it uses a tenth", neverConnected, 0, 10],
    ["of very many, each has one", { processes: 1_000, heldCount: 0 }, 60_010, 1],
  ];
  test.each(cases)("%s", (_, state, sinceMs, slots) => {
    expect(computeOutageShare(state, sinceMs, settings, timings).slots).toBe(slots);
  });

  test("exceeds the limit, with those of all others who are cut off as well, by at most one for each", () => {
    const fleet = fc.record({
      requests: fc.integer({ min: 1, max: 200 }),
      held: fc.array(fc.nat(50), { minLength: 2, maxLength: 40 }),
      sinceMs: fc.nat(200_000),
    });
    fc.assert(
      fc.property(fleet, ({ requests, held, sinceMs }) => {
        // The ledger never grants more than the limit.
        let left = requests;
        const granted = held.map((wanted) => {
          const slots = Math.min(wanted, left);
          left -= slots;
          return slots;
        });
        const inUse = granted.map((slots) => {
          const state = { processes: held.length, heldCount: slots };
          const share = computeOutageShare(state, sinceMs, { requests, reserved: 0 }, timings);
          return sinceMs > timings.returnMs ? share.slots : Math.max(slots, share.slots);
        });
        expect(inUse.reduce((sum, slots) => sum + slots, 0)).toBeLessThanOrEqual(requests + held.length);
      }),
    );
  });

  test("is announced once, however often a reply is late", () => {
    const limits = { ...settings, intervalMs: 60_000, maxConcurrent: 16 };
    const reachability = createReachability({ settings: limits, timings, onStoreError: "local" });
    const isAnnounced = () => {
      reachability.failed(0, unknown);
      return reachability.takeWarning(new Error("no reply")) !== undefined;
    };
    const reply = (isLate: boolean) => reachability.replied({ isLate, hasReportedShare: false });
    expect([isAnnounced(), reply(true), isAnnounced(), reply(false), isAnnounced()]).toEqual([
      true,
      undefined,
      false,
      undefined,
      true,
    ]);
  });

  test("keeps within the limit on average if there are more processes than slots", () => {
    const state = { processes: 300, heldCount: 0 };
    expect(computeOutageShare(state, 0, settings, timings).returnMs).toBe(timings.returnMs * 3);
  });

  test("leaves bulk at least one slot, and no reserved one", () => {
    const state = { processes: 4, heldCount: 25 };
    expect(computeOutageShare(state, 0, { requests: 100, reserved: 20 }, timings).bulk).toBe(20);
    expect(computeOutageShare({ ...state, heldCount: 0 }, 0, { requests: 100, reserved: 20 }, timings).bulk).toBe(1);
  });
});

describe("the timings of a shared limit", () => {
  test.each([
    [60_000, 60_009, 5_000],
    [4_000, 4_004, 2_000],
    [100, 104, 1_000],
  ])("for an interval of %i ms: slots free after %i, silent processes dead after %i", (intervalMs, returnMs, graceMs) => {
    expect(createHoldTimings({ intervalMs })).toEqual({
      returnMs,
      graceMs,
      holdMs: returnMs + graceMs,
      heartbeatMs: graceMs / 4,
    });
  });
});

describe("what goes to Redis and comes from it", () => {
  test.each([
    [undefined, "{stocklot:default}:ledger"],
    ["acme", "{stocklot:acme}:ledger"],
    ["a}b{c%d é", "{stocklot:a%7Db%7Bc%25d é}:ledger"],
  ])("keys have one hash tag, whatever the name: %s", (key, name) => {
    expect(redisKeyName(key, "ledger")).toBe(name);
  });

  test("an error of ioredis loses the command that it carries, as its arguments may be a token", () => {
    const error = Object.assign(new Error("WRONGPASS"), { code: "EX", command: { name: "auth", args: ["canary"] } });
    const bare = errorWithoutArguments(error);
    expect(bare).toMatchObject({ message: "WRONGPASS", code: "EX" });
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(bare))).not.toContain("canary");
  });
});
