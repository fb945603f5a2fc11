/** A median with its quartiles. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** A cell of a table: a string, or a number with the digits to show. */
export type Cell = string | { value: number | Spread; digits: number; unit?: string };

/** One figure, checked against its target. */
export interface Check {
  what: string;
  value: number;
  atMost?: number;
  atLeast?: number;
}

export interface BarChart {
  kind: "bars";
  title: string;
  /** The unit of the bars, for instance "× the floor". */
  unit: string;
  bars: { name: string; value: number; spread?: Spread; own: boolean }[];
}

export interface LineChart {
  kind: "lines";
  title: string;
  unit: string;
  /** The lines of the chart. Its x axis is logarithmic. */
  lines: { name: string; points: [x: number, y: Spread][]; own: boolean }[];
}

export interface Section {
  title: string;
  /** How the section was measured, in a sentence. */
  note: string;
  columns: string[];
  rows: Cell[][];
  checks: Check[];
  /** The chart, whose title is the question that it answers. */
  chart?: BarChart | LineChart;
}

/** The results of a run. */
export interface Results {
  machine: { node: string; cores: number; platform: string };
  sections: Record<string, Section>;
}

export const isMet = ({ value, atMost, atLeast }: Check) =>
  (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);

/** Returns a figure that the pages quote. */
export function figureOf({ sections }: Results, section: string, index = 0): number {
  const check = sections[section]?.checks[index];
  if (!check) throw new Error(`bench/results.json has no figure ${index} of ${section}`);
  return check.value;
}
