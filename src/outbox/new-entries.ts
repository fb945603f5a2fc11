import { createHash } from "node:crypto";
import * as z from "zod";
import { encodeJson } from "../client/for-add-ons.js";
import { comparableSku } from "../service/key.js";
import { WRITES } from "../service/operations.js";
import { canonicalJson } from "../shared/canonical-json.js";
import { checkInput } from "../shared/check.js";
import { InputValidationError, type Issue } from "../shared/errors/index.js";
import { lazy, string, withCheck } from "../shared/field.js";
import { fieldOf } from "../shared/unknown.js";
import type { MarkField } from "./marks.js";
import { type NewEntry, OUTBOX_OPERATIONS, type StoredEntry } from "./store.js";

/** Characters of a key. */
export const MAX_KEY_LENGTH = 200;

export const keySchema = /* @__PURE__ */ lazy(() =>
  withCheck(string().min(1).max(MAX_KEY_LENGTH, `must be at most ${MAX_KEY_LENGTH} characters long`), (key) => {
    if (!key.isWellFormed()) return "must be well-formed Unicode";
    // PostgreSQL cannot store it.
    return key.includes("\0") ? "must not contain a NUL character" : undefined;
  }),
);

const entrySchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ key: keySchema(), operation: z.enum(OUTBOX_OPERATIONS), input: z.unknown() }),
);

/** A checked copy of a write that is to be added. Throws an `InputValidationError`; `at` is where the entry is in the arguments. */
export function newEntry(method: string, entry: unknown, mark: MarkField | undefined, at: Issue["path"]): NewEntry {
  const { key, operation, input: given } = entrySchema().parse(checkInput(method, entrySchema, entry, at));
  const inputAt = [...at, "input"];
  // What is sent: dates become strings, fields that are undefined are left out.
  const checked = checkInput(method, WRITES[operation].input, given, inputAt);
  const input: unknown = JSON.parse(encodeJson(method, checked, inputAt));
  if (mark === "serial" && operation === "receive" && String(fieldOf(input, "serial") ?? "").trim() !== "") {
    const message = 'must be left out: with mark: "serial" the outbox sets it';
    throw new InputValidationError(method, [{ path: [...inputAt, "serial"], message }]);
  }
  return {
    key,
    operation,
    lane: laneOfInput(input),
    input: JSON.stringify(input),
    inputHash: createHash("sha256").update(canonicalJson({ operation, input })).digest("hex"),
    addedAt: Date.now(),
  };
}

/** Where an entry is in the arguments of a method. */
export type PathOfEntry = (index: number) => number[];

const pathInArray: PathOfEntry = (index) => [index];

/** Checked copies of many writes. Throws one `InputValidationError` with the issues of all. */
export function newEntries(
  method: string,
  entries: readonly unknown[],
  mark: MarkField | undefined,
  pathOf = pathInArray,
): NewEntry[] {
  const issues: Issue[] = [];
  const added = entries.flatMap((entry, index) => {
    try {
      return newEntry(method, entry, mark, pathOf(index));
    } catch (error) {
      if (!(error instanceof InputValidationError)) throw error;
      issues.push(...error.issues);
      return [];
    }
  });
  if (issues.length > 0) throw new InputValidationError(method, issues);
  return added;
}

/** Entries of one lane are sent in order: those of one item. */
export const laneOf = comparableSku;

/** The lane of an entry with this input. */
export const laneOfInput = (input: unknown): string =>
  laneOf(String(fieldOf(input, "itemID") ?? fieldOf(input, "shortID")));

/** Entries by key. Throws an `InputValidationError` if two of them differ. */
export function withoutRepeatedKeys(method: string, added: readonly NewEntry[], pathOf = pathInArray): NewEntry[] {
  const byKey = new Map<string, NewEntry>();
  for (const [index, entry] of added.entries()) {
    const other = byKey.get(entry.key);
    if (other && other.inputHash !== entry.inputHash) throw otherInput(method, pathOf(index), entry);
    byKey.set(entry.key, other ?? entry);
  }
  return [...byKey.values()];
}

/** What is stored for each entry that was added. Throws an `InputValidationError` if it was added before with another input. */
export function storedEntriesOf(
  method: string,
  added: readonly NewEntry[],
  stored: readonly StoredEntry[],
  pathOf = pathInArray,
): StoredEntry[] {
  const byKey = new Map(stored.map((entry): [string, StoredEntry] => [entry.key, entry]));
  for (const [index, entry] of added.entries()) {
    const { inputHash = entry.inputHash } = byKey.get(entry.key) ?? {};
    if (inputHash !== entry.inputHash) throw otherInput(method, pathOf(index), entry);
  }
  return added.map(({ key }) => {
    const entry = byKey.get(key);
    if (!entry) throw new TypeError(`the store did not return the entry "${key}"`);
    return entry;
  });
}

export const keyProblem = (method: string, message: string, at: number[] = []) =>
  new InputValidationError(method, [{ path: [...at, "key"], message }]);

const otherInput = (method: string, at: number[], { key }: NewEntry) =>
  keyProblem(method, `"${key}" was added before with another operation or input. Nothing was added.`, at);
