import { expect, it } from "vitest";
import { emptyData, memoryStore } from "../../../src/outbox/stores/memory-store.js";
import { passTime, stopTime } from "../../support/loop-time.js";
import { describeStore } from "./conformance.js";
import { newEntry } from "./support/new-entry.js";

describeStore("an outbox store in memory", () => {
  const data = emptyData();
  return () => memoryStore(data);
});

it("a lane in memory is free as soon as it is released, also where the clock stands still while code runs", async () => {
  stopTime();
  const store = memoryStore();
  await store.add([newEntry("a", "bolt")]);
  const claim = async () => (await store.claim({ owner: "me", leaseMs: 50, limit: 1, except: [] })).length;
  expect(await claim()).toBe(1);
  await store.release({ owner: "me", lane: "bolt" });
  expect(await claim()).toBe(1);
  await passTime(50);
  expect(await claim()).toBe(1);
});
