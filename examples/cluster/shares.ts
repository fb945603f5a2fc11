/** The table of examples/cluster: the share of each process in the last interval. */
import { printTable, style } from "../terminal.js";

export interface WorkerState {
  name: string;
  /** The times of the responses to this process, in ms of a monotonic clock. */
  responseTimes: number[];
  /** The number of calls that wait for a slot. */
  waiting: number;
  note: string;
}

const BAR_WIDTH = 24;

export interface SharesTable {
  update(): void;
  end(): void;
}

/** Redraws the table in place on a terminal. Otherwise, prints a line from time to time. */
export function drawShares(
  states: readonly WorkerState[],
  limit: { requests: number; intervalMs: number },
): SharesTable {
  const isTerminal = process.stdout.isTTY === true;
  let drawn = 0;
  let printedAt = performance.now();
  const inLastInterval = ({ responseTimes }: WorkerState) => {
    const from = performance.now() - limit.intervalMs;
    return responseTimes.filter((time) => time > from).length;
  };
  const rows = () =>
    states.map((state) => {
      const share = inLastInterval(state);
      const filled = Math.min(BAR_WIDTH, Math.round((share / limit.requests) * BAR_WIDTH));
      const bar = style("cyan", "█".repeat(filled)) + style("dim", "░".repeat(BAR_WIDTH - filled));
      const numbers = `${String(share).padStart(3)} of ${limit.requests}   ${String(state.responseTimes.length).padStart(5)} in all   ${String(state.waiting).padStart(3)} waiting`;
      return `  ${state.name}  ${bar}  ${numbers}  ${style("yellow", state.note)}`;
    });
  return {
    update() {
      if (isTerminal) {
        if (drawn > 0) process.stdout.moveCursor(0, -drawn);
        const lines = rows();
        for (const line of lines) {
          process.stdout.clearLine(0);
          console.log(line);
        }
        drawn = lines.length;
      } else if (performance.now() - printedAt >= limit.intervalMs) {
        printedAt = performance.now();
        const shares = states.map(
          (state) => `${state.name}: ${inLastInterval(state)}${state.note && ` (${state.note})`}`,
        );
        console.log(`  ${shares.join(", ")}`);
      }
    },
    end() {
      console.log();
      printTable(
        ["process", "requests", ""],
        states.map(({ name, responseTimes, note }) => [name, responseTimes.length, note]),
      );
    },
  };
}
