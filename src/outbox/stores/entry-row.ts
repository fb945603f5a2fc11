import * as z from "zod";
import { lazy } from "../../schemas/field.js";
import type { EntryChange, EntryProgress, StoredEntry } from "../store.js";

/** The columns of the part of an entry that changes. */
const PROGRESS_COLUMNS: Readonly<Record<keyof EntryProgress, string>> = {
  state: "state",
  attempts: "attempts",
  body: "body",
  sentAt: "sent_at",
  clockAheadMs: "clock_ahead_ms",
  settledAt: "settled_at",
  result: "result",
  error: "error",
};

/** The columns of an entry, by field. */
const COLUMNS: Readonly<Record<keyof StoredEntry, string>> = {
  sequence: "sequence",
  key: "key",
  operation: "operation",
  item: "item",
  input: "input",
  inputHash: "input_hash",
  addedAt: "added_at",
  ...PROGRESS_COLUMNS,
};

/** What a query selects, so that its rows have the names of fields. */
export const SELECTED = Object.entries(COLUMNS)
  .map(([field, column]) => `entry.${column} AS "${field}"`)
  .join(", ");

/** The columns that a change sets, with their new values. */
export function changedColumns(change: EntryChange): { column: string; value: string | number | null }[] {
  return Object.entries(PROGRESS_COLUMNS).flatMap(([field, column]) => {
    const value: unknown = Reflect.get(change, field);
    if (value === undefined) return [];
    return [{ column, value: typeof value === "number" || value === null ? value : String(value) }];
  });
}

/** An item as a column stores it: neither database can store a NUL, and SQLite no unpaired surrogate. Usually it is unchanged. */
export const itemToColumn = (item: string) => JSON.stringify(item).slice(1, -1);

const itemOfColumn = (column: string) => String(JSON.parse(`"${column}"`));

/** PostgreSQL returns numbers as strings. */
const number = () => z.union([z.number(), z.string().transform(Number)]);

const rowSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    sequence: number(),
    key: z.string(),
    operation: z.enum(["receive", "move", "issue", "create", "update", "discontinue"]),
    item: z.string().transform(itemOfColumn),
    input: z.string().nullable(),
    inputHash: z.string(),
    addedAt: number(),
    state: z.enum(["pending", "sending", "applied", "rejected", "unknown"]),
    attempts: number(),
    body: z.string().nullable(),
    sentAt: number().nullable(),
    clockAheadMs: number().nullable(),
    settledAt: number().nullable(),
    result: z.string().nullable(),
    error: z.string().nullable(),
  }),
);

/** The entry of a row that was selected by {@link SELECTED}. */
export const entryOfRow = (row: unknown): StoredEntry => rowSchema().parse(row);

const countsSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    pending: number(),
    sending: number(),
    applied: number(),
    rejected: number(),
    unknown: number(),
    heldBack: number(),
  }),
);

/** The counts of a row with these names. */
export const countsOfRow = (row: unknown) => countsSchema().parse(row);
