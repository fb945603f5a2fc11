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
    file: "src/outbox/run/entry-call.ts",
    line: "if (ended.aborted || stopped.aborted) abort();",
    change: "|| → &&",
    reason: "The worker of the lane has checked both just before, without waiting in between.",
  },
  {
    file: "src/storage/sqlite/connection.ts",
    line: "if (!isBusyError(error) || monotonicNowMs() - requestedAt > lockWaitMs)",
    change: "> → >=",
    reason: "It decides only at the very instant at which the time has passed.",
  },
  {
    file: "src/client/lists/gapless/resume-search.ts",
    line: "const isRising = second > first;",
    change: "> → >=",
    reason: "Equal keys are not sorted either way.",
  },
  {
    file: "src/client/lists/gapless/resume-search.ts",
    line: 'return (isRising ? key < first : key > first) ? "before" : "after";',
    change: "< → <=",
    reason: "A page that begins with the record itself ends the search before.",
  },
  {
    file: "src/client/send/pipeline.ts",
    line: "if (closing) closedController.abort();",
    change: "closedController.abort(); → ;",
    reason:
      "A search that begins after the client was closed ends with its first request, before it waits for the signal.",
  },
  {
    file: "src/client/transport/exchange.ts",
    name: "receiveChunk",
    line: "if (exchange.ended) return;",
    change: "return; → ;",
    reason: "After the end at most the chunk that is being read arrives. It is kept and never looked at.",
  },
  {
    file: "src/shared/errors/redaction/redact-cause.ts",
    line: "const isNativeStack = property?.get !== undefined && property.get === STACK_GETTER;",
    change: "!== → ===",
    reason:
      "Node.js 20 has no getter for the stack: a field is then read from its object, which returns the same value.",
  },
  {
    file: "src/shared/errors/redaction/secrets.ts",
    line: "while (length < form.length && text.charCodeAt(start + length) === form.charCodeAt(length)) length += 1;",
    change: "< → <=",
    reason: "Behind the end of a form there is NaN, which equals nothing.",
  },
  {
    file: "src/shared/errors/redaction/secrets.ts",
    line: "if (forms?.size === 0) formsByStart.delete(key);",
    change: "formsByStart.delete(key); → ;",
    reason: "In an empty set nothing is found. It only takes memory.",
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
