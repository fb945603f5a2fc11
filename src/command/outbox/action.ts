import { createOutbox, type OutboxState } from "../../outbox/index.js";
import type { OutboxOptions } from "../../outbox/options.js";
import type { Outbox } from "../../outbox/outbox.js";
import { fieldOf } from "../../shared/unknown.js";
import type { ConnectionFlags } from "../connection.js";
import { printable } from "../terminal.js";

export interface OutboxFlags extends ConnectionFlags {
  state?: OutboxState;
  item?: string;
  limit?: number;
  maxAge?: number;
  olderThan?: number;
  settle?: number;
  json?: true;
}

/** What an action works with. */
export interface Action {
  outbox: Outbox;
  /** The file or address of the outbox, for messages. */
  file: string;
  /** The arguments behind the name of the action. */
  words: readonly string[];
  flags: OutboxFlags;
  signal: AbortSignal;
}

/** Why an entry is as it is, in one line: the message, and the service's messages about fields, without which a failed validation says nothing. */
export function reasonOf(error: unknown): string {
  const details = Object.entries(Object(fieldOf(error, "details"))).map(
    ([field, found]) => `${field}: ${[found].flat().join(" ")}`,
  );
  // That of an unknown entry comes without the advice, which is for the process that sent it.
  const message = fieldOf(error, "reason") ?? fieldOf(error, "message") ?? "";
  return printable([message, ...details].join(" ").replace(/\s+/g, " "));
}

/** Does work with an outbox, and closes it. */
export async function withOutbox<T>(options: OutboxOptions, work: (outbox: Outbox) => Promise<T>): Promise<T> {
  const outbox = createOutbox(options);
  try {
    return await work(outbox);
  } finally {
    await outbox.close();
  }
}
