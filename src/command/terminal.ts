import type { Writable } from "node:stream";
import { monotonicNowMs } from "../shared/time/clock.js";
import { withoutControlCharacters } from "../shared/unknown.js";

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35 };
export type Style = keyof typeof STYLES;

/** What {@link painter} writes. */
const STYLE_PATTERN = `\\u001b\\[(?:0|${Object.values(STYLES).join("|")})m`;

type TerminalStream = Writable & { isTTY?: boolean; columns?: number };

/** Returns a function that colours text on a terminal, unless NO_COLOR is set. */
export function painter({ isTTY }: TerminalStream): (style: Style, text: string) => string {
  const hasColours = isTTY === true && !process.env.NO_COLOR;
  return (style, text) => (hasColours ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text);
}

/**
 * Text for people, which may quote what a service has sent: no control character of it, other than line breaks and the
 * colours of this command on a terminal, may move a cursor or change a title. Everything that is printed goes through it.
 */
export function harmless(text: string, isTTY = false): string {
  // What the pattern captures has odd indexes: it stays.
  const kept = isTTY ? new RegExp(`(\r?\n|${STYLE_PATTERN})`) : /(\r?\n)/;
  return text
    .split(kept)
    .map((part, index) => (index % 2 === 1 ? part : withoutControlCharacters(part)))
    .join("");
}

/** Writes data to standard output, as they are unless it is a terminal; waits if the reader is slower. */
export async function writeOutput(data: string): Promise<void> {
  const text = process.stdout.isTTY ? harmless(data, true) : data;
  if (text === "" || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}

/** Writes lines for people to standard output. */
export const print = (text: string): Promise<void> => writeOutput(`${harmless(text, process.stdout.isTTY)}\n`);

/** Writes a value as JSON to standard output. Control characters are escaped, which changes no value. */
export function printJson(value: unknown, indent?: number): Promise<void> {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // Line breaks stand between fields only; those of a value are escaped already.
  const text = JSON.stringify(value, null, indent).replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e]/g, escaped);
  return writeOutput(`${text}\n`);
}

/** Writes a message for people to standard error, so that standard output contains nothing but data. */
export function tell(text: string): void {
  process.stderr.write(`${harmless(text, process.stderr.isTTY)}\n`);
}

/** Between two columns. */
const GAP = "  ";

/** A column is not made narrower than this, nor one of numbers or dates at all. */
const LEAST_WIDTH = 12;

type Cell = string | number | null;
type Rows = readonly (readonly Cell[])[];

const UNBROKEN_PATTERN = /^\d{4}-\d\d-\d\d[\dT:.Z-]*$/;

/**
 * The columns of a table, as wide as their contents, or as a terminal: cells that do not fit are wrapped, never cut.
 * Numbers are aligned on the decimal point.
 *
 * @param width of a line; by default that of the terminal, and none in a pipe
 */
export function table(header: readonly string[], rows: Rows, width = terminalWidth(process.stdout)): string {
  const columns = header.map((name, column) => columnOf(name, column, rows));
  const widths = columns.map(({ cells }) => cells.reduce((most, cell) => Math.max(most, cell.length), 0));
  for (let total = sum(widths) + GAP.length * (widths.length - 1); total > width; total -= 1) {
    const widest = columns.reduce(
      (found, { isBreakable }, index) =>
        isBreakable && (widths[index] ?? 0) > (found < 0 ? LEAST_WIDTH : (widths[found] ?? 0)) ? index : found,
      -1,
    );
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const lines: string[] = [];
  for (let row = 0; row <= rows.length; row += 1) {
    const cells = columns.map(({ cells }, index) => wrappedLines(cells[row] ?? "", widths[index] ?? 0));
    const height = cells.reduce((most, { length }) => Math.max(most, length), 1);
    for (let line = 0; line < height; line += 1) {
      const parts = cells.map((cell, index) => {
        const text = cell[line] ?? "";
        return columns[index]?.isNumeric ? text.padStart(widths[index] ?? 0) : text.padEnd(widths[index] ?? 0);
      });
      lines.push(parts.join(GAP).trimEnd());
    }
  }
  return lines.join("\n");
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** The cells of a column, its name first, and how it is set. */
function columnOf(name: string, column: number, rows: Rows) {
  const cells = rows.map((row) => row[column] ?? "");
  const isNumeric =
    cells.some((cell) => typeof cell === "number") && cells.every((c) => c === "" || typeof c === "number");
  const texts = cells.map((cell) => withoutControlCharacters(String(cell)));
  const isBreakable = !isNumeric && !texts.every((text) => text === "" || UNBROKEN_PATTERN.test(text));
  return { cells: [name, ...(isNumeric ? alignedOnPoint(texts) : texts)], isNumeric, isBreakable };
}

function alignedOnPoint(numbers: readonly string[]): string[] {
  const places = (text: string) => (text.includes(".") ? text.length - text.indexOf(".") : 0);
  const most = numbers.reduce((most, text) => Math.max(most, places(text)), 0);
  return numbers.map((text) => (text === "" ? "" : text + " ".repeat(most - places(text))));
}

/** How many characters a line of the terminal has; a pipe has no limit. */
export const terminalWidth = ({ isTTY, columns }: TerminalStream): number =>
  isTTY ? columns || 80 : Number.POSITIVE_INFINITY;

/** Words in lines that are not wider than this. Longer words are broken. */
function wrappedLines(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const lines = [""];
  for (const word of text.split(" ").flatMap((word) => word.match(new RegExp(`.{1,${width}}`, "gsu")) ?? [""])) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Words in lines that are not wider than a line of the terminal, each after the indent except the first. */
export function wrapped(text: string, indent: number, width = terminalWidth(process.stdout)): string {
  return wrappedLines(text, Math.max(20, width - indent)).join(`\n${" ".repeat(indent)}`);
}

/** One line of data. */
export const printable = (value: unknown): string => withoutControlCharacters(String(value ?? ""));

const REDRAW_MS = 100;
const PLAIN_EVERY_MS = 10_000;

/** When the rate limit lets the next request pass, by the monotonic clock, for the progress lines. */
let waitsUntil = 0;

/** Called when a request has to wait. */
export function noteWaiting(waitMs: number): void {
  waitsUntil = monotonicNowMs() + waitMs;
}

/** Does work that reports its progress in one line, which disappears at the end. */
export async function withProgress<T>(work: (progress: ProgressLine) => Promise<T>): Promise<T> {
  const progress = new ProgressLine();
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

/** A line on standard error that is redrawn on a terminal; elsewhere one line every ten seconds. */
class ProgressLine {
  readonly #stream: TerminalStream = process.stderr;
  readonly #timer: NodeJS.Timeout;
  #text = "";
  #shownAt = 0;
  #isDrawn = false;

  constructor() {
    // While the rate limit is waited for, nothing else happens.
    this.#timer = setInterval(() => waitsUntil > monotonicNowMs() && this.update(this.#text), 1_000).unref();
  }

  update(text: string): void {
    this.#text = text;
    const now = monotonicNowMs();
    if (now - this.#shownAt < (this.#stream.isTTY ? REDRAW_MS : PLAIN_EVERY_MS)) return;
    this.#shownAt = now;
    const waitS = Math.ceil((waitsUntil - now) / 1_000);
    const waiting = waitS > 1 ? `waiting for the rate limit, continues in ${waitS} s` : "";
    const line = printable([text, waiting].filter(Boolean).join("; "));
    if (!this.#stream.isTTY) {
      tell(line);
      return;
    }
    // What is important comes last, and a terminal that does not know its width reports 0.
    const width = (this.#stream.columns || 80) - 1;
    this.#stream.write(`\r${line.length > width && waiting ? waiting : line.slice(0, width)}\u001b[K`);
    this.#isDrawn = true;
  }

  /** Removes the line. */
  clear(): void {
    if (this.#isDrawn) this.#stream.write("\r\u001b[K");
    this.#isDrawn = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
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
