import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findInexactNumbers, isExactlyRepresentable } from "../../src/client/send/inexact-numbers.js";
import { growthOf } from "../support/loop-time.js";
import { runs } from "../support/runs.js";

describe("a number", () => {
  it.each([
    "0",
    "-0",
    "0.000000000000000000000",
    "1",
    "-12.5",
    "12.500000000000000000000000",
    "100000000000000000000000",
    "123456789012345",
    "0.123456789012345",
    "12345678.9012345",
    "9007199254740991",
    "9007199254740992",
    "9007199254740994",
    "1e5",
    "1E+5",
    "1.5e-7",
    "1e22",
    "1e308",
    "1.7976931348623157e308",
    "5e-324",
    "0e999",
    "0.1",
    "0.30000000000000004",
    "1.0000000000000000000000000000",
    "0.00000000000000000000000000000000125",
  ])("%s is held exactly", (text) => expect(isExactlyRepresentable(text)).toBe(true));

  it.each([
    "9007199254740993",
    "-9007199254740993",
    "0.1234567890123456789",
    "12345678901234567.5",
    "1e400",
    "-1e400",
    "1e-400",
    "4.9e-324",
    "123456789012345678901234567890",
    "0.1000000000000000055",
    "1e99999999999999999999",
    `1${"0".repeat(30)}1`,
  ])("%s is not", (text) => expect(isExactlyRepresentable(text)).toBe(false));

  it("of up to 15 significant digits always is, in both directions", () => {
    const digits = fc.stringMatching(/^[1-9]\d{0,14}$/);
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 15 }), fc.boolean(), (text, places, negative) => {
        const padded = text.padStart(places + 1, "0");
        const point = padded.length - places;
        const decimal = `${negative ? "-" : ""}${padded.slice(0, point)}${places > 0 ? "." : ""}${padded.slice(point)}`;
        expect(isExactlyRepresentable(decimal)).toBe(true);
        expect(findInexactNumbers(`{"units":${decimal}}`)).toEqual([]);
        const sent = JSON.stringify({ units: Number(decimal) }).slice('{"units":'.length, -1);
        expect(Number(sent)).toBe(Number(decimal));
        expect(isExactlyRepresentable(sent)).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe("the numbers of a response that would be rounded", () => {
  it("are found where they stand", () => {
    const text = String.raw`{"value":[{"units":1},{"units":0.1234567890123456789,"a":"\"9007199254740993\\"}, [[9007199254740993]]],
      "total\"Count" : 1e400, "page":1}`;
    expect(findInexactNumbers(text)).toEqual([
      { path: ["value", 1, "units"], message: "0.1234567890123456789 cannot be represented exactly by a number" },
      { path: ["value", 2, 0, 0], message: "9007199254740993 cannot be represented exactly by a number" },
      { path: ['total"Count'], message: "1e400 cannot be represented exactly by a number" },
    ]);
  });

  it("are found wherever their point is", () => {
    const digits = fc.stringMatching(/^[1-9]\d{14,20}[1-9]$/);
    fc.assert(
      fc.property(digits, fc.nat(22), fc.boolean(), (text, places, negative) => {
        const padded = text.padStart(places + 1, "0");
        const point = padded.length - places;
        const decimal = `${negative ? "-" : ""}${padded.slice(0, point)}${places > 0 ? "." : ""}${padded.slice(point)}`;
        expect(findInexactNumbers(`{"units":${decimal}}`)).toHaveLength(isExactlyRepresentable(decimal) ? 0 : 1);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("are found when the whole response is one", () => {
    expect(findInexactNumbers("9007199254740993")).toMatchObject([{ path: [] }]);
  });

  it("are not those within texts", () => {
    const texts = ["9007199254740993", "1e400", '\\"9007199254740993', "\\\\", "0.1234567890123456789, 1e400"];
    expect(findInexactNumbers(JSON.stringify({ serial: texts, [texts.join()]: 1 }))).toEqual([]);
  });

  it("are found in any JSON, and nothing else is", () => {
    const json = fc.jsonValue({ maxDepth: 6 });
    fc.assert(
      fc.property(json, fc.boolean(), (value, inexact) => {
        const text = JSON.stringify({ a: [value, { "9007199254740993": "MARK" }] }).replace(
          '"MARK"',
          inexact ? "9007199254740993" : "1",
        );
        const found = findInexactNumbers(text).filter(({ message }) => message.startsWith("9007199254740993 "));
        expect(found.map(({ path }) => path)).toEqual(inexact ? [["a", 1, "9007199254740993"]] : []);
      }),
    );
  });

  it("are looked for in time that grows with the text and no faster", () => {
    const texts: ((length: number) => string)[] = [
      (length) => `[1${"0".repeat(length)}1]`,
      (length) => `["${"\\\\".repeat(length)}", 9007199254740993]`,
      (length) => `["${'\\"'.repeat(length)}", 9007199254740993]`,
      (length) => `[${"9007199254740993,".repeat(length / 20)}1]`,
      (length) => `${"[".repeat(length)}9007199254740993${"]".repeat(length)}`,
    ];
    for (const textOf of texts) {
      const find = (text: string) => expect(findInexactNumbers(text).length).toBeGreaterThan(0);
      // What looks at each character from each other one would take a hundred times as long.
      expect(growthOf(find, textOf(200_000), textOf(2_000_000))).toBeLessThan(40);
    }
  });
});
