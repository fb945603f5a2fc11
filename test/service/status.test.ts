import { describe, expect, it } from "vitest";
import { isPassingStatus, isRefusalStatus, isTransientStatus, refusesCredentials } from "../../src/service/status.js";

const from500 = Array.from({ length: 100 }, (_, index) => 500 + index).filter((status) => status !== 501);

/** The statuses for which an answer is yes; for all others from 100 to 599 it is no. */
const TABLE: readonly [string, (status: number) => boolean, readonly number[]][] = [
  ["transient", isTransientStatus, [408, ...from500]],
  ["passing", isPassingStatus, [408, 425, 429, ...from500]],
  ["a refusal of one write", isRefusalStatus, [400, 404, 409, 422]],
  ["a refusal of the credentials", refusesCredentials, [400, 401, 403]],
];

describe("a status", () => {
  it.each(TABLE)("is %s", (_, decide, expected) => {
    const all = Array.from({ length: 500 }, (_, index) => 100 + index);
    expect(all.filter(decide)).toEqual(expected);
  });
});
