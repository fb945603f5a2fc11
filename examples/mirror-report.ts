/** Prints the output of the mirror examples: a bar per resource, and a table with the report of a run. */
import type { MirrorProgress, MirrorReport } from "stocklot/mirror";
import { number, type ProgressBar, printTable, progressBar } from "./terminal.js";

const LABELS = {
  items: "items       ",
  lots: "lots        ",
  stockLevels: "stock levels",
  warehouseStockLevels: "warehouses  ",
};

/** Shows a bar for each full pass or increment of a resource, one below the other. */
export function mirrorBar(): { update(progress: MirrorProgress): void; end(): void } {
  let bar: ProgressBar | undefined;
  let now = "";
  return {
    update: (progress) => {
      const { resource, mode } = progress;
      if (now !== `${resource} ${mode}`) {
        bar?.end();
        now = `${resource} ${mode}`;
        bar = progressBar(LABELS[resource]);
      }
      bar?.update(progress);
    },
    end: () => {
      bar?.end();
      bar = undefined;
    },
  };
}

export function printReport({ resources, requests, durationMs }: MirrorReport): void {
  printTable(
    ["resource", "in copy", "read", "added", "changed", "removed", "requests"],
    Object.entries(resources).map(([resource, { inCopy, records, added, changed, removed, requests }]) => [
      resource,
      inCopy,
      records,
      added,
      changed,
      removed,
      requests,
    ]),
  );
  const seconds = number(durationMs / 1000);
  console.log(`  ${requests} requests in ${seconds} s\n`);
}
