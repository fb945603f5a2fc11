import { expect, it } from "vitest";
import { isInStock } from "../../src/service/lot.js";

const lot = { active: true, shipped: null, units: 5 };

it.each([
  [lot, true],
  [{ ...lot, units: -5 }, true],
  [{ ...lot, units: 1e-6 }, true],
  [{ ...lot, units: 0 }, false],
  [{ ...lot, units: 3e-16 }, false],
  [{ ...lot, shipped: "2026-01-31T00:00:00Z" }, false],
  [{ ...lot, active: false }, false],
  // A service that does not follow the document may leave out fields.
  [{ units: 5 }, true],
  [{ active: true }, false],
])("%j is in stock: %j", (fields, expected) => {
  expect(isInStock(fields)).toBe(expected);
});
