import type { Mutant } from "./mutants.js";

interface Equivalent extends Pick<Mutant, "file" | "line" | "change"> {
  /** The function around it, if the line occurs in several. */
  name?: string;
  /** Why no test can notice the change. */
  reason: string;
}

/** Mutants that change nothing that a caller could observe. */
const EQUIVALENT: readonly Equivalent[] = [
  {
    file: "src/storage/sqlite.ts",
    line: "const isOver = monotonicNowMs() - requestedAt > lockWaitMs;",
    change: "> → >=",
    reason: "It decides only at the very instant at which the time has passed.",
  },
];

/** Why a mutant is equivalent to the source, if it is known to be. */
export function equivalenceOf({ file, line, change, names }: Mutant): string | undefined {
  return EQUIVALENT.find(
    (known) =>
      known.file === file &&
      known.line === line &&
      known.change === change &&
      (known.name === undefined || known.name === names[0]),
  )?.reason;
}
