import { describe, expect, it } from "vitest";
import {
  isLastingStatus,
  isPassingStatus,
  isRefusalStatus,
  isTransientStatus,
  mayHaveApplied,
  mayRefuseParameter,
  refusesCredentials,
} from "../../src/service/status.js";

const hundredFrom = (first: number) => Array.from({ length: 100 }, (_, index) => first + index);
const from500 = hundredFrom(500).filter((status) => status !== 501);

/** Questions about a status, with the statuses for which the answer is yes. For all others from 100 to 599 it is no. */
const TABLE: readonly [string, (status: number) => boolean, readonly number[]][] = [
  ["transient", isTransientStatus, [408, ...from500]],
  ["one of a write that may have been applied", mayHaveApplied, [302, 303, 408, ...from500]],
  ["passing", isPassingStatus, [408, 425, 429, ...from500]],
  ["lasting", isLastingStatus, hundredFrom(400).filter((status) => ![408, 425, 429].includes(status))],
  ["perhaps a refusal of a parameter", mayRefuseParameter, [400, ...hundredFrom(500)]],
  ["a refusal of one write", isRefusalStatus, [400, 404, 409, 422]],
  ["a refusal of the credentials", refusesCredentials, [400, 401, 403]],
];

describe("a status", () => {
  it.each(TABLE)("is %s", (_, decide, expected) => {
    const all = Array.from({ length: 500 }, (_, index) => 100 + index);
    expect(all.filter(decide)).toEqual(expected);
  });
});
