import type { Mutant } from "./mutants.js";

interface Equivalent extends Pick<Mutant, "file" | "line" | "change"> {
  /** The name of the function around the line, if the line occurs in several functions. */
  name?: string;
  /** Why no test can notice the change. */
  reason: string;
}

/** Mutants whose change no caller can observe. */
const EQUIVALENT: readonly Equivalent[] = [
  {
    file: "src/storage/sqlite.ts",
    line: "const isOver = monotonicNowMs() - requestedAt > lockWaitMs;",
    change: "> → >=",
    reason: "It decides only at the very instant at which the time has passed.",
  },
];

/** Returns why a mutant is equivalent to the source, or `undefined` if it is not known to be equivalent. */
export function equivalenceOf({ file, line, change, names }: Mutant): string | undefined {
  return EQUIVALENT.find(
    (known) =>
      known.file === file &&
      known.line === line &&
      known.change === change &&
      (known.name === undefined || known.name === names[0]),
  )?.reason;
}
