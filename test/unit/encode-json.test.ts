import { describe, expect, it } from "vitest";
import { encodeJson } from "../../src/client/send/payload.js";

describe("what is no JSON data", () => {
  it.each([
    [new Map(), "must be JSON data, not a Map. Pass a plain object"],
    [() => {}, "must be JSON data, not a function"],
    [1n, "must be JSON data, not a bigint"],
    [Number.NaN, "must be a finite number, not NaN"],
  ])("is named, with where it stands: %s", (value, message) => {
    expect(() => encodeJson("request", { lots: [{ value }] }, ["body"])).toThrow(
      expect.objectContaining({ issues: [{ path: ["body", "lots", 0, "value"], message }] }),
    );
  });
});
