import type { Random } from "./random.js";

/** Texts that spreadsheets take for numbers, dates or truth values. Many of them may become another text of this list. */
export const REWRITABLE: readonly string[] = [
  ...[
    "0017",
    "17",
    "1E5",
    "100000",
    "1-2",
    "90.750",
    "90.75",
    "12E3",
    "12000",
    "3-4",
    "007",
    "7",
    "1.0",
    "1",
    "+5",
    "5",
  ],
  ...["1/2", "TRUE", "12:30", "1234567890123456789", "1.234", "1234", "MAR1", "2026-04-03", "A-01", "B 2", "=1+1", "x"],
];

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function asDate(text: string): { day: number; month: number } | undefined {
  const iso = /^\d{4}-(\d{2})-(\d{2})$/.exec(text);
  if (iso) return { month: Number(iso[1]), day: Number(iso[2]) };
  const short = /^(\d{1,2})[-/](\d{1,2})$/.exec(text);
  return short ? { day: Number(short[1]), month: Number(short[2]) } : undefined;
}

/** Returns the text of a cell as a spreadsheet saves it after it took the text for a number, a date or a truth value. */
export function rewritten(text: string, random: Random): string {
  const date = asDate(text);
  if (date && date.month >= 1 && date.month <= 12) {
    const [day, month] = [String(date.day).padStart(2, "0"), String(date.month).padStart(2, "0")];
    const name = MONTHS[date.month - 1];
    const forms = [
      `${day}. ${name}`,
      `${date.day}-${name}`,
      `2026-${month}-${day}`,
      `${day}.${month}.2026`,
      `${day}.${month}.26`,
    ];
    return forms[random(forms.length)] ?? text;
  }
  if (/^[+-]?\d+(\.\d+)?(E\d+)?$/i.test(text)) {
    const value = Number(text);
    if (Math.abs(value) >= 1e15)
      return random(2) === 0 ? value.toExponential(5).replace("e+", "E+") : roundedTo15(text);
    return String(value);
  }
  if (/^true$/i.test(text)) return "WAHR";
  return /^\d{1,2}:\d{2}$/.test(text) ? `${text}:00` : text;
}

const roundedTo15 = (digits: string) => digits.slice(0, 15) + "0".repeat(digits.length - 15);

/** What a person does with a table in a spreadsheet before saving it. */
export interface Edits {
  /** The indexes of the columns that are opened in the format "General", whose texts are rewritten. */
  columns: readonly number[];
  rewrites: boolean;
  /** Whether lines may be dropped, inserted or sorted, and a column may be added. */
  moves: boolean;
}

/** Returns a table, with its header first, as a spreadsheet saves it after these edits. */
export function throughSpreadsheet(table: readonly (readonly string[])[], edits: Edits, random: Random): string[][] {
  const [header = [], ...rows] = table.map((row) => [...row]);
  let lines = rows.map((row) =>
    row.map((cell, column) => (edits.rewrites && edits.columns.includes(column) ? rewritten(cell, random) : cell)),
  );
  if (!edits.moves) return [header, ...lines];
  if (random(3) === 0) lines = lines.filter(() => random(4) !== 0);
  if (random(3) === 0) lines.sort(([one = ""], [other = ""]) => (one < other ? -1 : 1));
  if (random(3) === 0)
    lines.splice(
      random(lines.length + 1),
      0,
      header.map(() => ""),
    );
  if (random(3) === 0) return [[...header, ""], ...lines.map((line) => [...line, ""])];
  return [header, ...lines];
}

/** Returns a table as CSV, with this delimiter and these line ends. */
export function asCsv(table: readonly (readonly string[])[], delimiter = ",", lineEnd = "\r\n"): string {
  const cell = (text: string) =>
    /["\r\n\s]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
  return table.map((row) => row.map(cell).join(delimiter) + lineEnd).join("");
}
