import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { WriteCall } from "./writes.js";

/** The results of all writes under one fault. */
export interface Row {
  /** The name of the fault in the table. Faults with the same name share a row, and must have the same results. */
  fault: string;
  results: readonly { outcome: string; effects: number }[];
}

const FILE = new URL("../../docs/writes.md", import.meta.url);

/** Adds a test that compares the table in docs/writes.md with the results. With `UPDATE_DOCS=1`, the test writes the table. */
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

/** Returns a table: a row per fault, a column for all writes with the same results, and the error if it is not "unknown". */
function markdown(writes: readonly WriteCall[], results: readonly Row[]): string {
  const rows = joinRows(results);
  const names = writes.map(({ name }, index) => ({ name: `\`${name}\``, index }));
  const columns = groupBy(names, ({ index }) => JSON.stringify(rows.map((row) => row.results[index])));
  const lines = [
    ["what happens", ...columns.map((column) => column.map(({ name }) => name).join(", ")), "✗"],
    ["---", ...columns.map(() => ":-:"), "---"],
    ...rows.map((row) => [row.fault, ...columns.map(([{ index }]) => cellOf(row.results[index])), errorOf(row)]),
  ];
  return `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}

function joinRows(rows: readonly Row[]): Row[] {
  const byFault = new Map<string, Row>();
  for (const row of rows) {
    const { fault, results } = byFault.get(row.fault) ?? row;
    const outcomesOf = (of: Row["results"]) => of.map(({ outcome }) => outcome);
    expect(outcomesOf(row.results), `the outcomes of every fault called "${fault}"`).toEqual(outcomesOf(results));
    // On a machine that stalls, a timeout may cause an additional attempt. So the smaller number of effects counts.
    const fewest = results.map((one, index) => ({
      ...one,
      effects: Math.min(one.effects, row.results[index]?.effects ?? 0),
    }));
    byFault.set(fault, { fault, results: fewest });
  }
  return [...byFault.values()];
}

const MARKS: Readonly<Record<string, string>> = { ok: "✓", OutcomeUnknownError: "?" };

const cellOf = (result: Row["results"][number] | undefined) =>
  result ? `${MARKS[result.outcome] ?? "✗"} ${result.effects}×` : "";

const errorOf = ({ results }: Row) => {
  const errors = results.map(({ outcome }) => outcome).filter((outcome) => !(outcome in MARKS));
  return [...new Set(errors)].map((error) => `\`${error}\``).join(", ");
};

/** Groups elements, in the order of the first element of each group. */
function groupBy<T>(elements: readonly T[], keyOf: (element: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const element of elements) {
    const group = groups.get(keyOf(element));
    if (group) group.push(element);
    else groups.set(keyOf(element), [element]);
  }
  return [...groups.values()];
}
