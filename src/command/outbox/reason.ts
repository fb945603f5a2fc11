import { fieldOf } from "../../errors/unknown-value.js";
import { printable } from "../terminal.js";
import { outboxCommandLine } from "./paste.js";

/** Why an entry is as it is, in one line: the message, and the service's messages about fields, without which a failed validation says nothing. */
export function reasonOf(error: unknown): string {
  const details = Object.entries(Object(fieldOf(error, "details"))).map(
    ([field, found]) => `${field}: ${[found].flat().join(" ")}`,
  );
  // That of an unknown entry comes without the advice, which is for the process that sent it.
  const message = fieldOf(error, "reason") ?? fieldOf(error, "message") ?? "";
  return printable([message, ...details].join(" ").replace(/\s+/g, " "), Number.POSITIVE_INFINITY);
}

/** How to decide about an unknown entry. */
export const howToDecide = (file: string, key: string): string =>
  `Check whether it was applied, then run ${outboxCommandLine(file, "resolve", key, "applied")}, or the same with not-applied.`;
