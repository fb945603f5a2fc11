import type { DeliveryOutbox } from "../../outbox/delivery-outbox.js";
import type { MarkField, OutboxState } from "../../outbox/index.js";
import type { ConnectionFlags } from "../connection.js";

export interface OutboxFlags extends ConnectionFlags {
  state?: OutboxState;
  item?: string;
  delivery?: string;
  limit?: number;
  maxAge?: number;
  olderThan?: number;
  mark?: MarkField;
  settle?: number;
  json?: true;
}

/** What an action works with. */
export interface Action {
  outbox: DeliveryOutbox;
  /** The file or address of the outbox, for messages. */
  file: string;
  /** The arguments behind the name of the action. */
  words: readonly string[];
  flags: OutboxFlags;
  signal: AbortSignal;
}
