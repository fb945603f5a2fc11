import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { WriteCall } from "./writes.js";

/** What one fault did to each write. */
export interface Row {
  /** Its name in the table. Faults with the same name are shown once, and must have the same results. */
  fault: string;
  results: readonly { outcome: string; effects: number }[];
}

const FILE = new URL("../../docs/reliability.md", import.meta.url);

/** Checks the table in docs/reliability.md against the results; with `UPDATE_DOCS=1` it writes the table. */
export function checkFaultTable(
  name: string,
  writes: readonly WriteCall[],
  rows: readonly Row[],
  rowCount: number,
): void {
  it(`the table of ${name} in docs/reliability.md shows the results of these tests`, async () => {
    expect(rows, "rows of the tests that passed").toHaveLength(rowCount);
    const table = markdown(writes, rows);
    const text = await readFile(FILE, "utf8");
    const begin = `<!-- begin: ${name} -->\n`;
    const end = `<!-- end: ${name} -->`;
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (after === undefined) throw new Error(`docs/reliability.md has no markers for the table of ${name}`);
    if (process.env.UPDATE_DOCS) await writeFile(FILE, `${before}${begin}${table}${end}${after}`);
    else expect(rest?.split(end)[0]).toBe(table);
  });
}

function markdown(writes: readonly WriteCall[], results: readonly Row[]): string {
  const rows = joinRows(results);
  const columns = joinEqualColumns(
    writes.map(({ name }, index) => ({
      names: [`\`${name}\``],
      cells: rows.map(({ results }) => cellOf(results[index])),
    })),
  );
  const lines = [
    ["what happens", ...columns.map(({ names }) => names.join(", "))],
    ["---", ...columns.map(() => "---")],
    ...rows.map(({ fault }, index) => [fault, ...columns.map(({ cells }) => cells[index])]),
  ];
  return `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}

function joinRows(rows: readonly Row[]): Row[] {
  const joined = new Map<string, Row>();
  for (const row of rows) {
    const { fault, results } = joined.get(row.fault) ?? row;
    expect(row.results, `the results of every fault called "${fault}"`).toEqual(results);
    joined.set(fault, row);
  }
  return joinEqualRows([...joined.values()]);
}

/** Faults with the same results share a row, at the place of the first of them. */
function joinEqualRows(rows: readonly Row[]): Row[] {
  const joined = new Map<string, Row>();
  for (const { fault, results } of rows) {
    const key = JSON.stringify(results);
    const equal = joined.get(key);
    joined.set(key, { fault: equal ? `${equal.fault}<br>${fault}` : fault, results });
  }
  return [...joined.values()];
}

interface Column {
  names: string[];
  cells: string[];
}

const cellOf = (result: Row["results"][number] | undefined) =>
  result ? `${result.outcome === "ok" ? "ok" : `\`${result.outcome}\``}, ${result.effects}×` : "";

/** Writes with the same results in every row share a column. */
function joinEqualColumns(columns: readonly Column[]): Column[] {
  const joined: Column[] = [];
  for (const { names, cells } of columns) {
    const equal = joined.find((column) => column.cells.every((cell, index) => cell === cells[index]));
    if (equal) equal.names.push(...names);
    else joined.push({ names, cells });
  }
  return joined;
}
