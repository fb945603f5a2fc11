import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { WriteCall } from "./writes.js";

/** A row of the table: what one fault did to each write. */
export interface Row {
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

function markdown(writes: readonly WriteCall[], rows: readonly Row[]): string {
  const lines = [
    ["what happens", ...writes.map(({ name }) => `\`${name}\``)],
    ["---", ...writes.map(() => "---")],
    ...rows.map(({ fault, results }) => [
      fault,
      ...results.map(({ outcome, effects }) => `${outcome === "ok" ? "ok" : `\`${outcome}\``} · ${effects}×`),
    ]),
  ];
  return `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}
