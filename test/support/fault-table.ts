import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { WriteCall } from "./writes.js";

/** What one fault did to each write. */
export interface Row {
  /** Its name in the table. Faults with the same name are shown once, and must have the same results. */
  fault: string;
  results: readonly { outcome: string; effects: number }[];
}

const FILE = new URL("../../docs/writes.md", import.meta.url);

/** Checks the table in docs/writes.md against the results; with `UPDATE_DOCS=1` it writes the table. */
export function checkFaultTable(
  name: string,
  writes: readonly WriteCall[],
  rows: readonly Row[],
  rowCount: number,
): void {
  it(`the table of ${name} in docs/writes.md shows the results of these tests`, async () => {
    expect(rows, "rows of the tests that passed").toHaveLength(rowCount);
    const table = markdown(writes, rows);
    const text = await readFile(FILE, "utf8");
    const begin = `<!-- begin: ${name} -->\n`;
    const end = `<!-- end: ${name} -->`;
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (after === undefined) throw new Error(`docs/writes.md has no markers for the table of ${name}`);
    if (process.env.UPDATE_DOCS) await writeFile(FILE, `${before}${begin}${table}${end}${after}`);
    else expect(rest?.split(end)[0]).toBe(table);
  });
}

function markdown(writes: readonly WriteCall[], results: readonly Row[]): string {
  const lines = [
    ["what happens", "how the call ends, and how often the write was applied"],
    ["---", "---"],
    ...joinRows(results).map(({ fault, results }) => [fault, resultsOf(writes, results)]),
  ];
  return `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}

function joinRows(rows: readonly Row[]): Row[] {
  const byFault = new Map<string, Row>();
  for (const row of rows) {
    const { fault, results } = byFault.get(row.fault) ?? row;
    const outcomesOf = (of: Row["results"]) => of.map(({ outcome }) => outcome);
    expect(outcomesOf(row.results), `the outcomes of every fault called "${fault}"`).toEqual(outcomesOf(results));
    // A machine that stalls adds an attempt after a timeout, and no more than that.
    const fewest = results.map((one, index) => ({
      ...one,
      effects: Math.min(one.effects, row.results[index]?.effects ?? 0),
    }));
    byFault.set(fault, { fault, results: fewest });
  }
  const byResults = groupBy([...byFault.values()], ({ results }) => JSON.stringify(results));
  return byResults.map(([first, ...others]) => ({
    ...first,
    fault: [first, ...others].map(({ fault }) => fault).join(";<br>"),
  }));
}

/** The result of each write. Writes with the same result share a line. */
function resultsOf(writes: readonly WriteCall[], results: Row["results"]): string {
  const lines = groupBy(
    writes.map(({ name }, index) => ({ name: `\`${name}\``, result: cellOf(results[index]) })),
    ({ result }) => result,
  ).map((group) => `${group.map(({ name }) => name).join(", ")}: ${group[0].result}`);
  return lines.length === 1 ? `all: ${cellOf(results[0])}` : lines.join("<br>");
}

const cellOf = (result: Row["results"][number] | undefined) =>
  result ? `${result.outcome === "ok" ? "ok" : `\`${result.outcome}\``}, ${result.effects}×` : "";

/** In the order of the first element of each group. */
function groupBy<T>(elements: readonly T[], keyOf: (element: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const element of elements) {
    const group = groups.get(keyOf(element));
    if (group) group.push(element);
    else groups.set(keyOf(element), [element]);
  }
  return [...groups.values()];
}
