import type { Mutant } from "./mutants.js";

interface Equivalent extends Pick<Mutant, "file" | "line" | "change"> {
  /** Why no test can notice the change. */
  reason: string;
}

/** Mutants that change nothing that a caller could observe. */
const EQUIVALENT: readonly Equivalent[] = [];

/** Why a mutant is equivalent to the source, if it is known to be. */
export function equivalenceOf({ file, line, change }: Mutant): string | undefined {
  return EQUIVALENT.find((known) => known.file === file && known.line === line && known.change === change)?.reason;
}
