import { fieldOf } from "../../shared/unknown.js";
import { printable } from "../terminal.js";

/** Why an entry is as it is, in one line. */
export function reasonOf(error: unknown): string {
  // The reason of an unknown entry comes without the advice, which is for the process that sent it.
  const message = fieldOf(error, "reason") ?? fieldOf(error, "message") ?? "";
  return printable(String(message).replace(/\s+/g, " "));
}
