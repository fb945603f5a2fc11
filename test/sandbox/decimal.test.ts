import fc from "fast-check";
import { expect, it } from "vitest";
import { compare, decimalOf, minus, plus, toNumber } from "../../src/sandbox/decimal.js";

it.each([
  0, 1, -1, 0.1, 1e-7, 1.5e-10, 123_456_789.123456, 1e21, 1.25e22, 999_999_999_999_999, 0.000000000000123,
])("gives %d back as it came", (value) => {
  expect(toNumber(decimalOf(value))).toBe(value);
  expect(toNumber(decimalOf(-value))).toBe(value === 0 ? 0 : -value);
});

it("adds and takes away exactly", () => {
  expect(toNumber(minus(plus(decimalOf(0.1), decimalOf(0.2)), decimalOf(0.3)))).toBe(0);
  expect(toNumber(plus(decimalOf(1e15), decimalOf(-1e15 + 1)))).toBe(1);
  expect(toNumber(minus(decimalOf(100), decimalOf(99.99)))).toBe(0.01);
});

it("agrees with whole numbers of the smallest unit", () => {
  const cents = fc.integer({ min: -1e9, max: 1e9 });
  fc.assert(
    fc.property(cents, cents, (a, b) => {
      const [x, y] = [decimalOf(a / 100), decimalOf(b / 100)];
      expect(toNumber(plus(x, y))).toBe((a + b) / 100);
      expect(toNumber(minus(x, y))).toBe((a - b) / 100 + 0);
      expect(Math.sign(compare(x, y))).toBe(Math.sign(a - b));
    }),
  );
});
