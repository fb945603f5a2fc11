import type { Writable } from "node:stream";
import { monotonicNowMs } from "../shared/time/clock.js";
import { escapeControlCharacters, withoutControlCharacters } from "../shared/unknown.js";

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35 };
export type Style = keyof typeof STYLES;

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
  const kept = new RegExp(isTTY ? `(\r?\n|${STYLE_PATTERN})` : "(\r?\n)");
  // Parts with odd indexes are captured by the pattern and stay as they are.
  const parts = text.split(kept).map((part, index) => (index % 2 === 1 ? part : withoutControlCharacters(part)));
  return parts.join("");
}

/** Writes to standard output; waits if the reader is slower. */
async function write(text: string): Promise<void> {
  if (text === "" || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}

/** Writes data to standard output, as they are unless it is a terminal. */
export const writeOutput = (data: string): Promise<void> => write(process.stdout.isTTY ? harmless(data) : data);

/** Writes lines for people to standard output. */
export const print = (text: string): Promise<void> =>
  write(`${fitting(harmless(text, process.stdout.isTTY), process.stdout)}\n`);

/** Writes a value as JSON to standard output. Control characters are escaped, which changes no value. */
export function printJson(value: unknown, indent?: number): Promise<void> {
  const text = escapeControlCharacters(JSON.stringify(value, null, indent));
  return writeOutput(`${text}\n`);
}

/** Writes a message for people to standard error, so that standard output contains nothing but data. */
export function tell(text: string): void {
  clearProgress();
  process.stderr.write(`${fitting(harmless(text, process.stderr.isTTY), process.stderr)}\n`);
}

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
 * @param width The width of a line. By default, the width of the terminal; a pipe has no limit.
 */
export function table(header: readonly string[], rows: Rows, width = terminalWidth(process.stdout)): string {
  const cellsOf = (column: number) => rows.map((row) => row[column] ?? "");
  const columns = header.map((name, index) => tableColumn(name, cellsOf(index)));
  const total = columns.reduce((sum, column) => sum + column.width + GAP.length, -GAP.length);
  for (let excess = total - width; excess > 0; excess -= 1) {
    const breakable = columns.filter((column) => column.isBreakable && column.width > LEAST_WIDTH);
    const [widest] = breakable.sort((one, next) => next.width - one.width);
    if (!widest) break;
    widest.width -= 1;
  }
  const lines = Array.from({ length: rows.length + 1 }, (_, row) => {
    const cells = columns.map((column) => wrappedLines(column.texts[row] ?? "", column.width));
    return Array.from({ length: Math.max(...cells.map(({ length }) => length)) }, (_, line) => {
      const parts = columns.map((column, index) => {
        const text = cells[index]?.[line] ?? "";
        return column.isNumeric ? text.padStart(column.width) : text.padEnd(column.width);
      });
      return parts.join(GAP).trimEnd();
    });
  });
  return lines.flat().join("\n");
}

/** The cells of a column as they are printed, its name first, and how it is set. */
function tableColumn(name: string, cells: readonly Cell[]) {
  const isNumeric =
    cells.some((cell) => typeof cell === "number") && cells.every((c) => c === "" || typeof c === "number");
  const shown = cells.map(printable);
  const texts = [name, ...(isNumeric ? alignedOnPoint(shown) : shown)];
  const isBreakable = !isNumeric && !shown.every((text) => text === "" || UNBROKEN_PATTERN.test(text));
  return { texts, isNumeric, isBreakable, width: longest(texts) };
}

const longest = (texts: readonly string[]) => texts.reduce((most, { length }) => Math.max(most, length), 0);

function alignedOnPoint(numbers: readonly string[]): string[] {
  const decimals = numbers.map((text) => /\..*$/.exec(text)?.[0] ?? "");
  const most = longest(decimals);
  return numbers.map((text, index) => (text === "" ? "" : text + " ".repeat(most - (decimals[index] ?? "").length)));
}

/** How many characters a line of the terminal has; a pipe has no limit. */
export const terminalWidth = ({ isTTY, columns }: TerminalStream): number =>
  isTTY ? columns || 80 : Number.POSITIVE_INFINITY;

/** Words in lines that are not wider than this. Longer words are broken. */
function wrappedLines(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const line = `\\S.{0,${width - 1}}`;
  return text.match(new RegExp(`${line}(?= |$)|${line}`, "gsu")) ?? [""];
}

/** Words in lines that are not wider than a line of the terminal, each after the indent except the first. */
export function wrapped(text: string, indent: number, width = terminalWidth(process.stdout)): string {
  return wrappedLines(text, Math.max(20, width - indent)).join(`\n${" ".repeat(indent)}`);
}

export const printable = (value: unknown): string => withoutControlCharacters(String(value ?? ""));

/** A command to paste, behind its indent: a line break in it would end it. */
const COMMAND_PATTERN = /^\s+(npx )?stocklot /;

/** Lines that are not wider than the terminal; what continues a line stands below its text. */
function fitting(text: string, stream: TerminalStream): string {
  const width = terminalWidth(stream);
  if (width === Number.POSITIVE_INFINITY) return text;
  const fit = (line: string) => {
    const plain = line.replace(new RegExp(STYLE_PATTERN, "g"), "");
    if (plain.length <= width || COMMAND_PATTERN.test(plain)) return line;
    const [indent = ""] = /^ */.exec(plain) ?? [];
    return styledAs(line, indent + wrapped(plain.slice(indent.length), indent.length, width));
  };
  return text.split("\n").map(fit).join("\n");
}

/** A text with the styles of a line that differs from it in white space alone. */
function styledAs(line: string, text: string): string {
  let rest = text;
  const parts = line.split(new RegExp(`(${STYLE_PATTERN})`)).map((part, index) => {
    // Parts with odd indexes are captured by the pattern.
    if (index % 2 === 1) return part;
    const letters = part.replace(/\s/g, "").length;
    const [taken = ""] = new RegExp(`^(?:\\s*\\S){${letters}}`).exec(rest) ?? [];
    rest = rest.slice(taken.length);
    return taken;
  });
  return parts.join("") + rest;
}

const REDRAW_MS = 100;
const PLAIN_EVERY_MS = 10_000;

/** The present wait, for the progress lines: its reason, and its end by the monotonic clock in ms. */
let waiting = { what: "", until: 0, condition: "", isLong: false };
/** Shows the progress line again. */
let showWaiting = () => {};

/** Notes that a request or a sender has to wait. `condition`: the condition under which the wait ends at that time. */
export function noteWaiting(waitMs: number, what: string, condition = ""): void {
  const now = monotonicNowMs();
  const isSame = waiting.what === what && waiting.until > now;
  const isLong = waitMs >= MIN_SHOWN_WAIT_MS || (isSame && waiting.isLong);
  waiting = { what, until: now + waitMs, condition, isLong };
  showWaiting();
}

/** Describes a wait of more than two seconds, with its reason and its end; an empty string if there is none. */
function describeWaiting(now: number): string {
  const { what, condition, isLong } = waiting;
  const left = waiting.until - now;
  if (!isLong || left <= 0) return "";
  const until = new Date(Date.now() + left).toTimeString().slice(0, 8);
  return `waiting for ${what}, ${condition}continues in ${Math.ceil(left / 1_000)} s, at ${until}`;
}

const MIN_SHOWN_WAIT_MS = 2_000;

const CLEAR_LINE = "\u001b[K";
let isProgressShown = false;

function clearProgress(): void {
  if (isProgressShown) process.stderr.write(`\r${CLEAR_LINE}`);
  isProgressShown = false;
}

/**
 * Does work that reports its progress in one line on standard error. On a terminal it is redrawn, and disappears at the end;
 * elsewhere it is a line every ten seconds, and one when a long wait begins.
 */
export async function withProgress<T>(work: (progress: (text: string) => void) => Promise<T>): Promise<T> {
  const { stderr } = process;
  let shownAt = stderr.isTTY ? 0 : monotonicNowMs();
  let text = "";
  let shownWait = "";
  const update = (next: string) => {
    text = next;
    const now = monotonicNowMs();
    const wait = describeWaiting(now);
    const isNewWait = wait !== "" && waiting.what !== shownWait;
    if (wait === "") shownWait = "";
    if (!isNewWait && now - shownAt < (stderr.isTTY ? REDRAW_MS : PLAIN_EVERY_MS)) return;
    shownAt = now;
    if (wait !== "") shownWait = waiting.what;
    const line = printable([text, wait].filter(Boolean).join("; "));
    if (!stderr.isTTY) return tell(line);
    // The important part comes last. A terminal that does not know its width reports 0.
    const width = terminalWidth(stderr) - 1;
    stderr.write(
      `\r${[line, wait].find((one) => one !== "" && one.length <= width) ?? (wait || line).slice(0, width)}${CLEAR_LINE}`,
    );
    isProgressShown = true;
  };
  showWaiting = () => update(text);
  // Meanwhile nothing else happens.
  const timer = setInterval(() => waiting.until > monotonicNowMs() && update(text), 1_000).unref();
  try {
    return await work(update);
  } finally {
    clearInterval(timer);
    showWaiting = () => {};
    clearProgress();
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

/**
 * Hides warnings that the user of a command can do nothing about, for example that SQLite is experimental in Node.js
 * 22.
 */
export function hideExperimentalWarnings(emitter: NodeJS.EventEmitter = process): void {
  const listeners = emitter.listeners("warning");
  emitter.removeAllListeners("warning");
  emitter.on("warning", (warning: Error) => {
    if (warning.name !== "ExperimentalWarning") for (const listener of listeners) listener(warning);
  });
}

/** A time in ms since the epoch, in UTC. */
export const dateTime = (ms: number) => new Date(ms).toISOString();
