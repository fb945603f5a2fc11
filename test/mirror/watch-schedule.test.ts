import { expect, it } from "vitest";
import { WatchSchedule } from "../../src/mirror/mirror.js";

it("a cadence for all resources makes them due together", () => {
  const cadence = new WatchSchedule(1_000, ["items", "lots"]);
  expect(cadence.takeDue(5)).toEqual(["items", "lots"]);
  expect(cadence.nextAt).toBe(1_005);
  expect(cadence.takeDue(1_005)).toEqual(["items", "lots"]);
});

it("a cadence per resource makes each due at its own interval, from the start of its last run", () => {
  const cadence = new WatchSchedule({ lots: 100, stockLevels: 1_000, items: undefined }, [
    "items",
    "lots",
    "stockLevels",
  ]);
  expect(cadence.takeDue(0)).toEqual(["lots", "stockLevels"]);
  expect(cadence.nextAt).toBe(100);
  expect(cadence.takeDue(130)).toEqual(["lots"]);
  expect(cadence.nextAt).toBe(230);
  expect(cadence.takeDue(1_000)).toEqual(["lots", "stockLevels"]);
});

it("a timer that fires early makes the next resource due anyway", () => {
  const cadence = new WatchSchedule({ lots: 100, items: 500 }, ["items", "lots"]);
  cadence.takeDue(0);
  expect(cadence.takeDue(99.7)).toEqual(["lots"]);
  expect(cadence.nextAt).toBe(199.7);
});
