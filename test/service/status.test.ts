import { readFileSync } from "node:fs";
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

const ALL = Array.from({ length: 500 }, (_, index) => 100 + index);

describe("a status", () => {
  it.each(TABLE)("is %s", (_, decide, expected) => {
    expect(ALL.filter(decide)).toEqual(expected);
  });

  it("has a row in the table at the head of the file, with a column for each question", () => {
    const head = readFileSync(new URL("../../src/service/status.ts", import.meta.url), "utf8");
    const lines = head.split("\n").map((line) => line.replace(/^ \*/, ""));
    const titles = lines.findIndex((line) => line.includes("transient"));
    const columns = ["transient", "may have", "passing", "lasting", "may refuse", "refusal of", "refuses credentials"];
    const at = columns.map((title) => lines[titles]?.indexOf(title) ?? -1);
    const rows = lines.slice(titles + 2, lines.indexOf("", titles)).map((line) => ({
      name: line.slice(0, at[0]).trim(),
      marks: at.map((start, index) => line.slice(start, at[index + 1]).trim() === "yes"),
    }));
    const rowOf = (status: number) =>
      rows.find(({ name }) => name.split(", ").includes(String(status))) ??
      rows.find(({ name }) => name === `other ${String(status)[0]}xx`);
    for (const status of ALL) {
      const expected = TABLE.map(([, decide]) => decide(status));
      expect(rowOf(status)?.marks ?? columns.map(() => false), String(status)).toEqual(expected);
    }
  });
});
