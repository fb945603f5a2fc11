import { describe, expect, it } from "vitest";
import { keyOfLine, keyOfValue, keysAsTyped } from "../../src/command/import/keys.js";
import { areCut, Notations } from "../../src/plan/notation.js";
import { seededRandom } from "../support/random.js";
import { REWRITABLE, rewritten } from "../support/spreadsheet.js";

const alike = (stored: string, given: string): boolean => {
  const keys = new Notations<number>();
  keys.add(given, 2);
  return keys.alike(stored).length > 0;
};

describe("keys in another notation", () => {
  it.each([
    ["0017", "17"],
    ["12E3", "12000"],
    ["1E5", "100000"],
    ["90.750", "90.75"],
    ["90.750", "90,75"],
    ["+5", "5"],
    ["1234567", "1.234.567"],
    ["1234567", "1'234'567"],
    ["3-4", "03. Apr"],
    ["3-4", "4-Mar"],
    ["3-4", "2026-04-03"],
    ["3/4", "03.04.2026"],
    ["3-4", "03.04.26"],
    ["3-4", "46115"],
    ["MAR1", "01. Mrz"],
    ["MAR1", "Mar-01"],
    ["2026-04-03", "04/03/2026"],
    ["2026-04-03", "3. April 2026"],
    ["2026-04-03", "03.04.26 00:00:00"],
    ["2026-04-03", "46115"],
    ["1-2-3", "01.02.2003"],
    ["1-2-3", "01-02-03"],
    ["12:30", "12:30:00"],
    ["1234567890123456789", "1.23457E+18"],
    ["376104250021234569", "3.76104250021235E+017"],
    ["5%", "0.05"],
    ["5%", "5,00 %"],
    ["5%", "5.00E-02"],
    ["TRUE", "true"],
    ["TRUE", "WAHR"],
    ["false", "FAUX"],
    ["=1", "1"],
    ['="0017"', "17"],
    ["'17", "17"],
    ["+49-170", "-121"],
    ["=1+1", "2"],
    ["$5", "5.00 €"],
    ["(5)", "-5"],
    ["5-", "-5"],
    [".5", "0,5"],
    ["A\u20101", "A-1"],
    ["A\u20111", "A\u20121"],
    ["A\u20131", "A\u22121"],
    ["3\u20134", "03.04.2026"],
    ["5\u2019 6\u201d", "5' 6\""],
    ["A\u00a01", "A 1"],
    ["\uff11\uff17", "17"],
  ])("are recognised: %s and %s", (one, other) => {
    expect([alike(one, other), alike(other, one)]).toEqual([true, true]);
  });

  it("are recognised if all long numbers of a file have lost their last digits", () => {
    const [label, cut] = ["1234567890123456789", "1234567890123450000"];
    const keys = new Notations<number>(areCut([cut, "17"]));
    keys.add(cut, 2);
    expect(keys.alike(label)).toEqual([expect.objectContaining({ text: cut, named: 2 })]);
    expect([areCut([cut, label]), areCut(["17"]), areCut([])]).toEqual([false, false, false]);
  });

  it.each([
    ["17", "18"],
    ["ASN-0017", "ASN-17"],
    ["1-2", "2-1"],
    ["1-2-3", "1-3-2"],
    ["1-2", "1-2-3"],
    ["2026-04-03", "2026-03-04"],
    ["2026-04-03", "2027-04-03"],
    ["04/03/2026", "03/04/2026"],
    ["376104250021234569", "376104250021234576"],
    ["12.3", "123"],
    ["A", "a"],
    ["17", "17 "],
    ["100", "1E5"],
    ["45000", "45001"],
    ["4711/1", "4711/2"],
    ["99-1", "1-99"],
    ["376104250021234000", "376104250021234576"],
    ["12:30", "12:31"],
    ["5%", "5"],
    ["TRUE", "FALSE"],
    ["A-1", "A1"],
    ["key 1.10", "1.1"],
    ["key MAR1", "MAR1"],
    ["1-2-3-4", "01.02.2003"],
    ["MAR-1-APR", "01. Mar"],
    ["00003-4", "03.04.2026"],
  ])("are told apart: %s and %s", (one, other) => {
    const isSpace = one.trim() === other.trim();
    expect([alike(one, other), alike(other, one)]).toEqual([isSpace, isSpace]);
  });

  it("are those that spreadsheets make of cells, and none of many ordinary ones", () => {
    const random = seededRandom(61);
    for (const text of REWRITABLE)
      for (let tries = 0; tries < 10; tries += 1) {
        const saved = rewritten(text, random);
        if (areCut([saved])) continue;
        if (saved !== text) expect([text, saved, alike(text, saved)]).toEqual([text, saved, true]);
      }
    const keys = new Notations<number>();
    const values = [
      ...Array.from({ length: 3_000 }, (_, index) => `${37_000 + index}`),
      ...Array.from({ length: 300 }, (_, index) => `4711-${index}`),
      ...Array.from({ length: 300 }, (_, index) => `2026${String(index).padStart(6, "0")}`),
    ];
    for (const [line, value] of values.entries()) keys.add(value, line);
    expect(values.flatMap((value) => keys.alike(value))).toEqual([]);
  });
});

describe("keys as people type them", () => {
  it.each([
    [keyOfLine("März 27/1.csv", 7), "März 27/1.csv:7"],
    [keyOfLine("Ma\u0308rz.csv", 7), "März.csv:7"],
    [keyOfValue(undefined, "Beleg Nr", "27/1=a"), "Beleg Nr=27/1=a"],
    [keyOfValue("2026/11", "id=x", "27 %"), "2026/11/id=x=27 %"],
    ["own key", "own key"],
  ])("are found: %s", (key, typed) => {
    expect(keysAsTyped(typed)).toContain(key);
    expect(keysAsTyped(key)).toContain(key);
  });
});

it("finds keys in files of any length in time, also those that spreadsheets round to the same number", () => {
  const keys = new Notations<number>();
  const labels = Array.from({ length: 30_000 }, (_, index) => `3761042500${String(index).padStart(8, "0")}`);
  for (const [line, label] of labels.entries()) keys.add(label, line);
  const startedAt = performance.now();
  expect(labels.filter((label) => keys.alike(label).length > 0)).toEqual([]);
  expect(keys.alike("3.76104E+17")).toHaveLength(50);
  // Comparing each key with every other key would take an hour.
  expect(performance.now() - startedAt).toBeLessThan(60_000);
});
