/** Terminal output of the demo and the examples: headings, tables and a progress bar. */
import { styleText } from "node:util";

const { stdout } = process;
const isTerminal = stdout.isTTY === true && process.env.TERM !== "dumb";
const hasColours = isTerminal && !process.env.NO_COLOR;

type Style = Parameters<typeof styleText>[0];

/** Formats a text, but only on a terminal. */
export function style(format: Style, text: string): string {
  return hasColours ? styleText(format, text) : text;
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** Formats a number like `12,345.6`. */
export function number(value: number): string {
  return NUMBER.format(value);
}

/** Formats a change like `+1,200` or `-5`. No change is an empty string. */
export function change(value: number): string {
  if (value === 0) return "";
  return value > 0 ? `+${number(value)}` : number(value);
}

type Row = readonly (string | number)[];

/** Prints rows under a header: the first column aligned left, the others, which are quantities, aligned right. */
export function printTable(header: readonly string[], rows: readonly Row[]): void {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === "number" ? number(cell) : cell)));
  const widths = header.map((title, column) => Math.max(title.length, ...texts.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) => (column === 0 ? cells[0]?.padEnd(width) : cells[column]?.padStart(width)))
      .join("   ")
      .trimEnd();

  console.log(`  ${style("bold", line(header))}`);
  console.log(`  ${style("dim", widths.map((width) => "─".repeat(width)).join("───"))}`);
  for (const row of texts) console.log(`  ${line(row)}`);
}

const REDRAW_MS = 80;
/** The number of characters next to a bar. They must fit into the line too, or the terminal would wrap it. */
const BESIDE_BAR = 62;
const MAX_BAR_WIDTH = 28;
const MIN_BAR_WIDTH = 8;

/** The progress that a bar shows. */
interface Shown {
  received: number;
  totalCount: number;
  requests?: number;
}

export interface ProgressBar {
  /** Accepts the argument of `onProgress`. */
  update(progress: Shown): void;
  /** Leaves the bar as it is and goes to the next line. */
  end(): void;
}

/**
 * Creates a bar that moves on a terminal. Elsewhere, it prints a line for each quarter. `note` returns the text beside the bar,
 * which is updated even while no page arrives.
 */
export function progressBar(label: string, note: () => string = () => ""): ProgressBar {
  let progress: Shown = { received: 0, totalCount: 0, requests: 0 };
  let quarters = 0;
  const startedAt = performance.now();

  const share = () => (progress.totalCount === 0 ? 0 : Math.min(1, progress.received / progress.totalCount));
  const counts = () => {
    const { received, totalCount, requests } = progress;
    const done = `${number(received)} of ${number(totalCount)}`;
    return requests === undefined ? done : `${done}, ${requests} ${requests === 1 ? "request" : "requests"}`;
  };
  const draw = (beside: string) => {
    if (progress.requests === 0) return;
    const columns = stdout.columns || 80;
    const width = Math.max(MIN_BAR_WIDTH, Math.min(MAX_BAR_WIDTH, columns - BESIDE_BAR));
    const filled = Math.round(share() * width);
    const bar = style("cyan", "█".repeat(filled)) + style("dim", "░".repeat(width - filled));
    const fits = `  ${label}  ${counts()}${beside}`.length + width < columns;
    stdout.cursorTo(0);
    stdout.write(`  ${label} ${bar} ${counts()}${fits ? style("yellow", beside) : ""}`);
    stdout.clearLine(1);
  };
  const drawWithNote = () => {
    const text = note();
    draw(text && `, ${text}`);
  };
  const timer = isTerminal ? setInterval(drawWithNote, REDRAW_MS) : undefined;
  const seconds = () => `in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;

  return {
    update: (now) => {
      progress = now;
      if (isTerminal) return drawWithNote();
      const reached = Math.floor(share() * 4);
      if (reached === quarters) return;
      quarters = reached;
      console.log(`  ${label} ${String(reached * 25).padStart(3)} %, ${counts()} ${seconds()}`);
    },
    end: () => {
      clearInterval(timer);
      if (!isTerminal) return;
      draw(` ${seconds()}`);
      stdout.write("\n");
    },
  };
}
