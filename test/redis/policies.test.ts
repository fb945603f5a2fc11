import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Hand } from "../../src/redis/ledger/hand.js";
import { type Memory, ownShare } from "../../src/redis/ledger/own-share.js";
import { OwnSlots } from "../../src/redis/ledger/own-slots.js";
import { termsOf } from "../../src/redis/ledger/terms.js";
import { bareError, keyName } from "../../src/redis/redis-client.js";

afterEach(() => {
  vi.useRealTimers();
});

const termsFor = (requests: number, intervalMs: number) =>
  termsOf({ requests, intervalMs, reserved: 0, maxConcurrent: 16 });

describe("the share of a process that is cut off from Redis", () => {
  const terms = termsFor(100, 60_000);
  const cases: [name: string, memory: Memory, sinceMs: number, slots: number][] = [
    ["alone, it has the whole limit", { members: 1, held: 0 }, 0, 100],
    ["one of four with its part in use keeps that", { members: 4, held: 25 }, 0, 25],
    ["one of four that has more gives up the rest", { members: 4, held: 60 }, 0, 25],
    ["one of four that has less keeps to it at first", { members: 4, held: 15 }, 0, 15],
    ["one that has none may begin with a quarter of its part", { members: 4, held: 0 }, 0, 6],
    ["after an interval all slots are back, and each has its part", { members: 4, held: 0 }, 60_010, 25],
    ["where others are not known, it takes a tenth", { members: undefined, held: 0 }, 0, 10],
    ["of very many, each has one", { members: 1_000, held: 0 }, 60_010, 1],
  ];
  test.each(cases)("%s", (_, memory, sinceMs, slots) => {
    expect(ownShare(memory, sinceMs, terms).slots).toBe(slots);
  });

  test("keeps to the limit together with those of all others who are cut off as well", () => {
    const fleet = fc.record({
      requests: fc.integer({ min: 1, max: 200 }),
      held: fc.array(fc.nat(50), { minLength: 1, maxLength: 40 }),
      sinceMs: fc.nat(200_000),
    });
    fc.assert(
      fc.property(fleet, ({ requests, held, sinceMs }) => {
        const own = termsFor(requests, 60_000);
        // What they have when they are cut off is what the ledger gave them; those in question have their part of it.
        const even = Math.max(1, Math.floor(requests / held.length));
        const shares = held.map((slots) =>
          ownShare({ members: held.length, held: Math.max(slots % (even + 1), even) }, sinceMs, own),
        );
        const perInterval = shares.reduce((sum, { slots, returnMs }) => sum + (slots * own.returnMs) / returnMs, 0);
        expect(perInterval).toBeLessThanOrEqual(requests + 1e-9);
      }),
    );
  });

  test("comes back more slowly where there are more processes than slots", () => {
    expect(ownShare({ members: 300, held: 0 }, 0, terms).returnMs).toBe(termsFor(100, 60_000).returnMs * 3);
  });
});

describe("the terms of a shared limit", () => {
  test.each([
    [60_000, 60_009, 5_000],
    [4_000, 4_004, 2_000],
    [100, 104, 1_000],
  ])("for an interval of %i ms: slots back after %i, patience with the silent of %i", (intervalMs, returnMs, graceMs) => {
    expect(termsFor(10, intervalMs)).toEqual({
      requests: 10,
      reserved: 0,
      intervalMs,
      returnMs,
      graceMs,
      leaseMs: returnMs + graceMs,
      beatMs: graceMs / 4,
    });
  });
});

describe("the slots of a process", () => {
  test("are told to the ledger when something about them has changed, and once", () => {
    const slots = new OwnSlots();
    slots.add("me/1", { inLedger: true });
    expect(slots.hasNews).toBe(false);
    slots.add("me/2p", { inLedger: false });
    expect(slots.takeNews(0, 500)).toEqual([{ id: "me/2p", ms: 500 }]);
    slots.release("me/1", 300);
    slots.giveBack("me/2p");
    expect(slots.takeNews(100, 500)).toEqual([
      { id: "me/1", ms: 200 },
      { id: "me/2p", ms: 0 },
    ]);
    expect(slots.hasNews).toBe(false);
  });

  test("are told again when the ledger may not have heard of them, as they are by then", () => {
    const slots = new OwnSlots();
    slots.add("me/1", { inLedger: true });
    slots.release("me/1", 300);
    slots.putBack(slots.takeNews(0, 500));
    slots.settle(300);
    expect(slots.takeNews(300, 500)).toEqual([{ id: "me/1", ms: 0 }]);
  });

  test("are renewed while under way, and all told to a new ledger", () => {
    const slots = new OwnSlots();
    for (const id of ["me/1", "me/2", "me/3"]) slots.add(id, { inLedger: true });
    slots.release("me/2", 900);
    slots.takeNews(0, 500);
    slots.renew();
    expect(slots.takeNews(0, 500).map(({ id }) => id)).toEqual(["me/1", "me/3"]);
    slots.tellAll();
    expect(slots.takeNews(0, 500).map(({ id }) => id)).toEqual(["me/1", "me/3", "me/2"]);
  });

  test("are counted until they have come back", () => {
    const slots = new OwnSlots();
    for (const id of ["me/1", "me/2p", "me/3p"]) slots.add(id, { inLedger: true });
    slots.release("me/2p", 100);
    slots.release("me/1", 200);
    expect([slots.size, slots.pages, slots.underWay, slots.nextReturn]).toEqual([3, 2, 1, 100]);
    slots.settle(100);
    expect([slots.size, slots.pages, slots.underWay, slots.nextReturn]).toEqual([2, 1, 1, 200]);
    slots.giveBack("me/3p");
    slots.giveBack("me/3p");
    slots.release("me/3p", 500);
    slots.settle(500);
    expect([slots.size, slots.pages, slots.underWay, slots.nextReturn]).toEqual([0, 0, 0, undefined]);
  });
});

describe("slots at hand", () => {
  test("that were granted for pages do for single calls, not the other way round", () => {
    const hand = new Hand();
    hand.add(["me/1", "me/2p", "me/3p"]);
    expect([hand.take(true), hand.take(false), hand.take(false), hand.take(false)]).toEqual([
      "me/2p",
      "me/1",
      "me/3p",
      undefined,
    ]);
    hand.add(["me/4", "me/5p"]);
    expect(hand.take(true)).toBe("me/5p");
    expect(hand.take(true)).toBeUndefined();
    expect(hand.empty()).toEqual(["me/4"]);
    expect(hand.empty()).toEqual([]);
  });
});

describe("what goes to Redis and comes from it", () => {
  test.each([
    [undefined, "{stocklot:default}:book"],
    ["acme", "{stocklot:acme}:book"],
    ["a}b{c%d é", "{stocklot:a%7Db%7Bc%25d é}:book"],
  ])("keys have one hash tag, whatever the name: %s", (key, name) => {
    expect(keyName(key, "book")).toBe(name);
  });

  test("an error of ioredis loses the command that it carries, as its arguments may be a token", () => {
    const error = Object.assign(new Error("WRONGPASS"), { code: "EX", command: { name: "auth", args: ["canary"] } });
    const bare = bareError(error);
    expect(bare).toMatchObject({ message: "WRONGPASS", code: "EX" });
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(bare))).not.toContain("canary");
  });
});
