import type { Writable } from "node:stream";
import { monotonicNowMs } from "../shared/time/clock.js";
import { withoutControlCharacters } from "../shared/unknown.js";

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35 };
export type Style = keyof typeof STYLES;

type TerminalStream = Writable & { isTTY?: boolean; columns?: number };

/** Returns a function that colours text on a terminal, unless NO_COLOR is set. */
export function painter({ isTTY }: TerminalStream): (style: Style, text: string) => string {
  const hasColours = isTTY === true && !process.env.NO_COLOR;
  return (style, text) => (hasColours ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text);
}

/** Writes to standard output; waits if the reader is slower. */
export async function writeOutput(text: string): Promise<void> {
  if (text === "" || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}

/** Writes a line to standard output. */
export const print = (line: string): Promise<void> => writeOutput(`${line}\n`);

/**
 * Writes a message for people to standard error, so that standard output contains nothing but data. It may quote what a
 * service has sent.
 */
export function tell(text: string): void {
  process.stderr.write(`${text.split("\n").map(withoutControlCharacters).join("\n")}\n`);
}

/** Between two columns. */
const GAP = "  ";

/** The columns of a table, as wide as their contents. Numbers are aligned to the right. */
export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [header, ...rows.map((row) => row.map(String))];
  const widths = header.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0));
  const isNumeric = header.map((_, column) =>
    rows.every((row) => row[column] === "" || typeof row[column] === "number"),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return isNumeric[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  return cells.map(line).join("\n");
}

/** How many characters a line may have: those of the terminal. */
const outputWidth = (): number => (process.stdout.isTTY ? process.stdout.columns : 0) || 80;

const LEAST_WIDTH = 6;

/** A table of data that is not wider than a line: its widest columns are cut, except the first, which people copy. */
export function fittedTable(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? cell : printable(cell))));
  const widths = header.map((name, column) =>
    cells.reduce((width, row) => Math.max(width, String(row[column]).length), name.length),
  );
  const total = () => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  while (total() > outputWidth() && Math.max(...widths.slice(1)) > LEAST_WIDTH) {
    const widest = widths.indexOf(Math.max(...widths.slice(1)), 1);
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const cut = cells.map((row) =>
    row.map((cell, column) => (typeof cell === "number" || column === 0 ? cell : printable(cell, widths[column]))),
  );
  return table(header, cut);
}

/** Words in lines that are not wider than a line of the terminal, each after the indent. */
export function wrapped(text: string, indent: number): string {
  const width = Math.max(20, outputWidth() - indent);
  const lines = [""];
  for (const word of text.split(" ").flatMap((word) => word.match(new RegExp(`.{1,${width}}`, "gs")) ?? [])) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}

/** Data for a terminal: without control characters, which could change what it shows, and of limited width. */
export function printable(value: unknown, maxWidth = 200): string {
  const text = withoutControlCharacters(String(value ?? ""));
  return text.length > maxWidth ? `${text.slice(0, maxWidth - 1)}…` : text;
}

const REDRAW_MS = 100;
const PLAIN_EVERY_MS = 10_000;

/** Does work that reports its progress in one line, which disappears at the end. */
export async function withProgress<T>(work: (progress: ProgressLine) => Promise<T>): Promise<T> {
  const progress = new ProgressLine();
  try {
    return await work(progress);
  } finally {
    progress.clear();
  }
}

/** A line on standard error that is redrawn on a terminal; elsewhere one line every ten seconds. */
class ProgressLine {
  readonly #stream: TerminalStream = process.stderr;
  #shownAt = 0;
  #isDrawn = false;

  update(text: string): void {
    const now = monotonicNowMs();
    if (now - this.#shownAt < (this.#stream.isTTY ? REDRAW_MS : PLAIN_EVERY_MS)) return;
    this.#shownAt = now;
    if (this.#stream.isTTY) {
      // A terminal that does not know its width reports 0.
      this.#stream.write(`\r${text.slice(0, (this.#stream.columns || 80) - 1)}\u001b[K`);
      this.#isDrawn = true;
    } else tell(text);
  }

  /** Removes the line. */
  clear(): void {
    if (this.#isDrawn) this.#stream.write("\r\u001b[K");
    this.#isDrawn = false;
  }
}

/** `1 line`, `2 lines`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

export function seconds(ms: number): string {
  if (ms < 90_000) return `${Math.round(ms / 1_000)} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** Hides what the user of a command cannot change, for example that SQLite is experimental in Node.js 22. */
export function hideExperimentalWarnings(emitter: NodeJS.EventEmitter = process): void {
  const listeners = emitter.listeners("warning");
  emitter.removeAllListeners("warning");
  emitter.on("warning", (warning: Error) => {
    if (warning.name !== "ExperimentalWarning") for (const listener of listeners) listener(warning);
  });
}

/** A time in ms since the epoch, in UTC. */
export const dateTime = (ms: number) => new Date(ms).toISOString();
