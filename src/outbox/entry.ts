import { createHash } from "node:crypto";
import * as z from "zod";
import { encodeJson } from "../client/for-add-ons.js";
import { comparableSku } from "../service/key.js";
import { WRITES } from "../service/operations.js";
import { canonicalJson } from "../shared/canonical-json.js";
import { InputValidationError, type Issue, StocklotError } from "../shared/errors/index.js";
import { checkInput, lazy, readInput, string, withCheck } from "../shared/schema.js";
import { snapshotOf } from "../shared/snapshot.js";
import { mapInTurns } from "../shared/time/turn.js";
import { fieldOf, isObject, messageOf } from "../shared/unknown.js";
import { OUTBOX_OPERATIONS, type OutboxInputs, type OutboxOperation, skuOfInput } from "../writes/operation.js";
import { type MarkField, markOf, withMark } from "./marks.js";

export type { ItemReference, OutboxInputs, OutboxOperation } from "../writes/operation.js";

export const OUTBOX_STATES: readonly OutboxState[] = [
  "pending",
  "sending",
  "applied",
  "rejected",
  "unknown",
  "canceled",
];

/**
 * - `pending`: certainly not applied; it will be sent
 * - `sending`: an attempt has begun, and its outcome is not known yet
 * - `applied`, `rejected`: settled; the service has applied or refused the write
 * - `canceled`: settled; the write was not applied, and will never be sent
 * - `unknown`: it cannot be proved whether the write was applied, and no attempt can take effect any more; a person
 * must decide,
 *   see `outbox.resolve`
 */
export type OutboxState = "pending" | "sending" | "applied" | "rejected" | "unknown" | "canceled";

/** A write to add to an outbox. */
export type OutboxEntryInput = {
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
  /** The input that is sent, including a mark; `undefined` once the entry was pruned. */
  input: unknown;
  /** The state of the entry. */
  state: OutboxState;
  /** When the entry was added, in ms since the epoch. */
  addedAt: number;
  /** When the first attempt began, in ms since the epoch. */
  sentAt?: number;
  /** When the entry became `applied`, `rejected` or `canceled`, in ms since the epoch. */
  settledAt?: number;
  /** When a person last decided about the entry, in ms since the epoch, see `outbox.resolve`. */
  resolvedAt?: number;
  /** The state before that decision. */
  resolvedFrom?: "unknown" | "rejected";
  /** Number of attempts, counted before each one is sent. */
  attempts: number;
  /** The result of the method. If the response was lost, the lot or item that the service lists. */
  result?: unknown;
  /**
   * The error of the last attempt, or why the outcome is unknown: `{ name, message, … }`. The error stays if a person decides
   * that the entry was applied.
   */
  error?: unknown;
}

/** A new entry, before the store gives it a place. */
export interface NewEntry {
  key: string;
  operation: OutboxOperation;
  /** The item, as a comparable form of its SKU. The entries of one lane are sent one at a time, in the order added. */
  lane: string;
  /** The input that is sent, as JSON. */
  input: string;
  /** SHA-256 of operation and input, without the mark. It stays when the entry is pruned. */
  inputHash: string;
  addedAt: number;
  /** The name of the only sender that may send the entry, see `SenderAccess`; `null` for any sender. */
  boundTo: string | null;
}

/** An entry as it is stored. `null` is a missing value. */
export interface StoredEntry extends Omit<NewEntry, "input"> {
  /** The place of the entry. Places ascend in the order added. */
  sequence: number;
  input: string | null;
  state: OutboxState;
  attempts: number;
  sentAt: number | null;
  /** How far the service's clock was ahead of this machine's clock at `sentAt`, in ms; `null` if unknown. */
  clockAheadMs: number | null;
  /** The highest record number of a lot that was seen before the first attempt; `null` if unknown. */
  lastRecNo: number | null;
  settledAt: number | null;
  resolvedAt: number | null;
  resolvedFrom: "unknown" | "rejected" | null;
  /** The result as JSON. The error is JSON, too. */
  result: string | null;
  error: string | null;
}

export const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));

export function inputOf({ key, input }: Pick<StoredEntry, "key" | "input">): object {
  const stored = parsed(input);
  if (!isObject(stored)) throw new TypeError(`the store has no input of ${key}`);
  return stored;
}

export function entryOf(stored: StoredEntry): OutboxEntry {
  const { key, operation, input, state, addedAt, sentAt, settledAt, attempts, result, error } = stored;
  const { resolvedAt, resolvedFrom } = stored;
  return {
    key,
    operation,
    input: parsed(input),
    state,
    addedAt,
    ...(sentAt !== null && { sentAt }),
    ...(settledAt !== null && { settledAt }),
    ...(resolvedAt !== null && resolvedFrom !== null && { resolvedAt, resolvedFrom }),
    attempts,
    ...(result !== null && { result: parsed(result) }),
    ...(error !== null && { error: parsed(error) }),
  };
}

/** Converts an error to its stored form: `{ name, message, … }` as JSON. */
export function errorJson(error: unknown): string {
  if (error instanceof StocklotError) return JSON.stringify(error.toJSON());
  if (!(error instanceof Error) && typeof fieldOf(error, "message") === "string") return JSON.stringify(error);
  return JSON.stringify({ name: String(fieldOf(error, "name") ?? "Error"), message: messageOf(error) });
}

export const MAX_KEY_LENGTH = 200;

export const entryKeySchema = /* @__PURE__ */ lazy(() =>
  withCheck(string().min(1).max(MAX_KEY_LENGTH, `must be at most ${MAX_KEY_LENGTH} characters long`), (key) => {
    if (!key.isWellFormed()) return "must be well-formed Unicode";
    // PostgreSQL cannot store this character.
    return key.includes("\0") ? "must not contain a NUL character" : undefined;
  }),
);

const entryInputSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ key: entryKeySchema(), operation: z.enum(OUTBOX_OPERATIONS), input: z.unknown() }),
);

/**
 * Returns a checked copy of a write to add, without its mark, which depends on the store. Throws an `InputValidationError` if
 * the write is wrong. `at`: the path of the write in the arguments.
 */
export function newEntry(method: string, entry: unknown, mark: MarkField | false, at: Issue["path"]): NewEntry {
  const { key, operation, input: given } = readInput(method, entryInputSchema, entry, at);
  const inputAt = [...at, "input"];
  // The input as it is sent: dates are strings, and fields that are undefined are left out.
  const checked = checkInput(method, WRITES[operation].input, given, inputAt);
  const input: object = JSON.parse(encodeJson(method, checked, inputAt));
  if (operation === "receive" && mark === "serial" && String(fieldOf(input, "serial") ?? "").trim() !== "") {
    const message = 'must be left out: with mark: "serial" the outbox sets it';
    throw new InputValidationError(method, [{ path: [...inputAt, "serial"], message }]);
  }
  return {
    key,
    operation,
    lane: laneOf(skuOfInput(input)),
    input: JSON.stringify(input),
    inputHash: createHash("sha256").update(canonicalJson({ operation, input })).digest("hex"),
    addedAt: Date.now(),
    boundTo: null,
  };
}

/** Returns a new entry with the mark of its store and key. Only receipts have a mark. */
export const markedEntry = (entry: NewEntry, storeId: string, mark: MarkField | false): NewEntry =>
  entry.operation === "receive" && mark !== false
    ? { ...entry, input: JSON.stringify(withMark(inputOf(entry), mark, markOf(storeId, entry.key))) }
    : entry;

/** Returns the lane of an item: one text for all spellings of its SKU, which both databases can store. */
export const laneOf = (sku: string) => JSON.stringify(comparableSku(sku)).slice(1, -1);

/** Returns checked copies of writes. Throws one `InputValidationError` with the issues of all writes. */
export function newEntries(
  method: string,
  given: readonly unknown[],
  mark: MarkField | false,
  pathOf: (index: number) => number[],
): NewEntry[] {
  const issues: Issue[] = [];
  const entries = given.flatMap((entry, index) => checkedEntry(method, entry, mark, pathOf(index), issues));
  if (issues.length > 0) throw new InputValidationError(method, issues);
  return entries;
}

/** Like `newEntries`, but the event loop runs between entries. Later changes by the caller have no effect. */
export async function manyNewEntries(
  ...[method, given, mark, pathOf]: Parameters<typeof newEntries>
): Promise<NewEntry[]> {
  const issues: Issue[] = [];
  const check = (entry: unknown, index: number) => checkedEntry(method, entry, mark, pathOf(index), issues);
  const entries = await mapInTurns(given.map(snapshotOf), check);
  if (issues.length > 0) throw new InputValidationError(method, issues);
  return entries.flat();
}

/** Returns a checked copy of an entry. If the entry is wrong, adds to `issues` and returns none. */
function checkedEntry(
  method: string,
  entry: unknown,
  mark: MarkField | false,
  at: number[],
  issues: Issue[],
): NewEntry[] {
  try {
    return [newEntry(method, entry, mark, at)];
  } catch (error) {
    if (!(error instanceof InputValidationError)) throw error;
    issues.push(...error.issues);
    return [];
  }
}

export const keyProblem = (method: string, message: string) =>
  new InputValidationError(method, [{ path: ["key"], message }]);

/** Creates an error with a `code`, so that a server can tell this error (409) from other wrong entries (400). */
export function otherInput(method: string, key: string, at: number[]): InputValidationError {
  const message = `"${key}" was added before with another operation or input. Nothing was added.`;
  return new InputValidationError(method, [{ path: [...at, "key"], message, code: "key-conflict" }]);
}
