import type { CreateItemInput, ItemChanges } from "../service/item-input.js";
import type { IssueInput, MoveInput, ReceiveInput } from "../service/transaction.js";
import { StocklotError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";
import type { OutboxOperation, OutboxState, StoredEntry, StoredJson } from "./store.js";

/** The item to discontinue or to update. */
export interface ItemReference {
  /** Its SKU. */
  shortID: string;
}

/** The input of each operation. */
export interface OutboxInputs {
  /** As for `client.inventory.receive`. */
  receive: ReceiveInput;
  /** As for `client.inventory.move`. */
  move: MoveInput;
  /** As for `client.inventory.issue`. */
  issue: IssueInput;
  /** As for `client.items.create`. */
  create: CreateItemInput;
  /** The SKU, and the changes as for `client.items.update`. */
  update: ItemChanges & ItemReference;
  /** The SKU, as for `client.items.discontinue`. */
  discontinue: ItemReference;
}

/** A write to add to an outbox. */
export type NewOutboxEntry = {
  [Operation in OutboxOperation]: {
    /** Your own name of the write, 1 to 200 characters. Each key is added only once. */
    key: string;
    /** The method to call. */
    operation: Operation;
    /** The input of the method. */
    input: OutboxInputs[Operation];
  };
}[OutboxOperation];

/** A write in an outbox. Times are by the clock of the machine that wrote them. */
export interface OutboxEntry {
  /** The caller's name of the write. */
  key: string;
  /** The method that is called. */
  operation: OutboxOperation;
  /** The input that was added, as JSON represents it; `undefined` once the entry was pruned. */
  input: unknown;
  /** The state of the entry. */
  state: OutboxState;
  /** When it was added, in ms since the epoch. */
  addedAt: number;
  /**
   * When it was sent first, in ms since the epoch. Attempts that failed in a way that shows that they were not applied are
   * not counted; those that a look-up found not to have been applied are.
   */
  sentAt?: number;
  /** When it became `applied` or `rejected`, in ms since the epoch. */
  settledAt?: number;
  /** Number of attempts, counted before each one is sent. */
  attempts: number;
  /** The result of the method. If the response was lost: the lot or item that the service lists. */
  result?: unknown;
  /** The error of the last attempt, or why the outcome is unknown: `{ name, message, … }`. */
  error?: unknown;
}

/** Converts a stored entry to the caller's form. */
export function entryOf(stored: StoredEntry): OutboxEntry {
  const { key, operation, input, state, addedAt, sentAt, settledAt, attempts, result, error } = stored;
  return {
    key,
    operation,
    input: parsed(input),
    state,
    addedAt,
    ...(sentAt === null ? {} : { sentAt }),
    ...(settledAt === null ? {} : { settledAt }),
    attempts,
    ...(result === null ? {} : { result: parsed(result) }),
    ...(error === null ? {} : { error: parsed(error) }),
  };
}

const parsed = (json: StoredJson | null): unknown => (json === null ? undefined : JSON.parse(json));

/** An error as it is stored: `{ name, message, … }`. */
export function errorJson(error: unknown): StoredJson {
  if (error instanceof StocklotError) return JSON.stringify(error.toJSON());
  if (!(error instanceof Error) && typeof fieldOf(error, "message") === "string") return JSON.stringify(error);
  return JSON.stringify({ name: String(fieldOf(error, "name") ?? "Error"), message: messageOf(error) });
}

/** A result as it is stored; `null` if there is none. */
export const resultJson = (result: unknown): StoredJson | null => JSON.stringify(result) ?? null;
