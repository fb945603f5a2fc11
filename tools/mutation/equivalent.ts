import type { Mutant } from "./mutants.js";

interface Equivalent extends Pick<Mutant, "file" | "line" | "change"> {
  /** Why no test can notice the change. */
  reason: string;
}

/** Mutants that change nothing that a caller could observe. */
const EQUIVALENT: readonly Equivalent[] = [
  {
    file: "src/errors/redaction/redact-cause.ts",
    line: "const isNativeStack = property?.get !== undefined && property.get === STACK_GETTER;",
    change: "!== → ===",
    reason:
      "Node.js 20 has no getter for the stack: a field is then read from its object, which returns the same value.",
  },
];

/** Why a mutant is equivalent to the source, if it is known to be. */
export function equivalenceOf({ file, line, change }: Mutant): string | undefined {
  return EQUIVALENT.find((known) => known.file === file && known.line === line && known.change === change)?.reason;
}
