import { type Cell, type Check, isMet, type Section } from "./results.js";

/** Formats a section for a terminal. */
export function tableOf({ title, note, columns, rows, checks }: Section): string {
  const lines = [columns, ...rows.map((row) => row.map(textOf))];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const aligned = lines.map((line) =>
    line
      .map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join("  "),
  );
  return [`\n${title}`, note, "", ...aligned, "", ...checks.map(checkLine)].join("\n");
}

export function textOf(cell: Cell): string {
  if (typeof cell === "string") return cell;
  const { value, digits, unit = "" } = cell;
  const text = (number: number) =>
    number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const space = unit === "×" || unit === "" ? "" : " ";
  if (typeof value === "number") return `${text(value)}${space}${unit}`;
  return `${text(value.median)}${space}${unit} [${text(value.low)}–${text(value.high)}]`;
}

export function checkLine(check: Check): string {
  const { what, value, atMost, atLeast } = check;
  const target = [
    ...(atMost === undefined ? [] : [`at most ${atMost.toLocaleString("en")}`]),
    ...(atLeast === undefined ? [] : [`at least ${atLeast.toLocaleString("en")}`]),
  ];
  const figure = value.toFixed(Math.abs(value) < 100 ? 2 : 0);
  return `${isMet(check) ? "✓" : "✗"} ${what}: ${Number(figure).toLocaleString("en")} (${target.join(", ")})`;
}
