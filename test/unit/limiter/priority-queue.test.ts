import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLinkedQueue, createPriorityQueue, type QueueLink } from "../../../src/client/limiter/priority-queue.js";
import type { SlotRequest } from "../../../src/client/limiter/rate-limiter.js";
import { CallCancellation } from "../../../src/shared/time/cancellation.js";

const cancellation = new CallCancellation();
const asks = (
  priority: SlotRequest["priority"],
  slotKind: SlotRequest["slotKind"] = "single",
  order?: number,
): SlotRequest => ({
  priority,
  slotKind,
  cancellation,
  ...(order === undefined ? {} : { arrival: order }),
});

describe("a lane", () => {
  test("is left in the order of arrival; an entry that returns keeps its first arrival", () => {
    const lane = createLinkedQueue<string>();
    lane.add("third", 3);
    lane.add("fifth", 5);
    lane.add("first", 1);
    lane.add("fourth", 4);
    expect([...lane]).toEqual(["first", "third", "fourth", "fifth"]);
    expect(lane.first?.value).toBe("first");
    expect(lane.size).toBe(4);
  });

  test("can be left from anywhere, as a sorted list can", () => {
    const steps = fc.array(fc.record({ order: fc.nat(50), leaves: fc.boolean(), which: fc.nat() }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const lane = createLinkedQueue<number>();
        const model: QueueLink<number>[] = [];
        for (const { order, leaves, which } of all) {
          const leaving = leaves ? model.splice(which % Math.max(1, model.length), 1)[0] : undefined;
          if (leaving) lane.remove(leaving);
          else {
            const behind = model.findIndex((place) => place.arrival > order);
            model.splice(behind < 0 ? model.length : behind, 0, lane.add(order, order));
          }
          // An entry that returns with an arrival in use cannot be told apart from the other.
          expect([...lane]).toEqual(model.map((place) => place.arrival));
          expect(lane.size).toBe(model.length);
        }
      }),
    );
  });
});

describe("the lanes of a limiter", () => {
  test("let the most urgent go first, and bulk behind the other calls of their urgency", () => {
    const lanes = createPriorityQueue<string>();
    const add = (name: string, request: SlotRequest, order: number) => lanes.add(name, request, order);
    add("low page", asks("low", "bulk"), 1);
    add("low", asks("low"), 2);
    add("normal page", asks("normal", "bulk"), 3);
    add("normal", asks("normal"), 4);
    add("high page", asks("high", "bulk"), 5);
    add("high", asks("high"), 6);
    add("token", asks("token"), 7);
    const inOrder = ["token", "high", "high page", "normal", "normal page", "low", "low page"];
    expect([...lanes]).toEqual(inOrder);
    expect([...lanes.heads()]).toEqual(inOrder);
    expect(lanes.counts).toEqual({ single: 4, bulk: 3 });
  });

  test("offer the next of a lane when its first has left, and pass over a lane whose first stays", () => {
    const lanes = createPriorityQueue<string>();
    const takeOut = new Map<string, () => void>();
    for (const [index, name] of ["write 1", "write 2"].entries()) {
      takeOut.set(name, lanes.add(name, asks("high"), index));
    }
    lanes.add("page 1", asks("high", "bulk"), 2);
    lanes.add("page 2", asks("high", "bulk"), 3);
    takeOut.set("read", lanes.add("read", asks("normal"), 4));
    const offered: string[] = [];
    for (const name of lanes.heads()) {
      offered.push(name);
      takeOut.get(name)?.();
    }
    expect(offered).toEqual(["write 1", "write 2", "page 1", "read"]);
    expect(lanes.counts).toEqual({ single: 0, bulk: 2 });
  });

  const ahead: [name: string, request: SlotRequest, single: number, bulk: number][] = [
    ["a token request has only others ahead", asks("token"), 1, 0],
    ["a write has tokens and writes ahead", asks("high"), 2, 0],
    ["a read has those and reads ahead, but bulk not for sure", asks("normal"), 3, 0],
    ["a page has all ahead", asks("low", "bulk"), 4, 2],
    ["an urgent page has only more urgent calls ahead", asks("high", "bulk"), 2, 1],
    ["one that comes back may be the first of its lane", asks("normal", "single", 1), 2, 0],
  ];
  test.each(ahead)("count who goes first for sure: %s", (_, request, single, bulk) => {
    const lanes = createPriorityQueue<string>();
    lanes.add("token", asks("token"), 1);
    lanes.add("write", asks("high"), 2);
    lanes.add("urgent page", asks("high", "bulk"), 3);
    lanes.add("read", asks("normal"), 4);
    lanes.add("low", asks("low"), 5);
    lanes.add("page", asks("low", "bulk"), 6);
    expect(lanes.countsAhead(request)).toEqual({ single, bulk });
  });
});
