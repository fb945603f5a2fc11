import * as z from "zod";
import { lazy } from "../../shared/field.js";
import type { NewLine, StoredDelivery } from "../delivery-store.js";
import {
  type EntryChange,
  type EntryProgress,
  type NewEntry,
  OUTBOX_OPERATIONS,
  OUTBOX_STATES,
  type StoredEntry,
  UNSETTLED_STATES,
} from "../store.js";

export const UNSETTLED_STATES_SQL = `('${UNSETTLED_STATES.join("', '")}')`;

/** Counts that begin with the common table expression `counted`: the number of entries by state. */
export const STATE_COUNTS_SQL = OUTBOX_STATES.map(
  (state) => `coalesce((SELECT entries FROM counted WHERE state = '${state}'), 0) AS ${state}`,
).join(", ");

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
const COLUMN_BY_FIELD: Readonly<Record<keyof StoredEntry, string>> = {
  sequence: "sequence",
  key: "key",
  operation: "operation",
  lane: "lane",
  input: "input",
  inputHash: "input_hash",
  addedAt: "added_at",
  ...PROGRESS_COLUMNS,
};

/** What a query selects, so that its rows have the names of fields. */
export const SELECTED_COLUMNS_SQL = Object.entries(COLUMN_BY_FIELD)
  .map(([field, column]) => `${column} AS "${field}"`)
  .join(", ");

/** Sets the columns that change. The first value of the command is the key, {@link progressValues} follow. */
export const SET_PROGRESS_SQL = Object.values(PROGRESS_COLUMNS)
  .map((column, index) => `${column} = $${index + 2}`)
  .join(", ");

/** The part of an entry that changes, after a change: in the order of the columns. */
export function progressValues(entry: EntryProgress, change: EntryChange): (string | number | null)[] {
  const { state = entry.state, attempts = entry.attempts, body = entry.body, sentAt = entry.sentAt } = change;
  const { clockAheadMs = entry.clockAheadMs, settledAt = entry.settledAt } = change;
  const { result = entry.result, error = entry.error } = change;
  return [state, attempts, body, sentAt, clockAheadMs, settledAt, result, error];
}

/** An entry that is added, by column. */
export const rowOfEntry = ({ key, operation, lane, input, inputHash, addedAt, delivery }: NewLine) => ({
  key,
  operation,
  lane: laneToColumn(lane),
  input,
  input_hash: inputHash,
  added_at: addedAt,
  delivery,
});

/** A lane as a column stores it: neither database can store a NUL, and SQLite no unpaired surrogate. Usually it is unchanged. */
export const laneToColumn = (lane: string) => JSON.stringify(lane).slice(1, -1);

const laneOfColumn = (column: string) => String(JSON.parse(`"${column}"`));

/** PostgreSQL returns numbers as strings. */
const numericSchema = () => z.union([z.number(), z.string().transform(Number)]);

const entryRowSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    sequence: numericSchema(),
    key: z.string(),
    operation: z.enum(OUTBOX_OPERATIONS),
    lane: z.string().transform(laneOfColumn),
    input: z.string().nullable(),
    inputHash: z.string(),
    addedAt: numericSchema(),
    state: z.enum(OUTBOX_STATES),
    attempts: numericSchema(),
    body: z.string().nullable(),
    sentAt: numericSchema().nullable(),
    clockAheadMs: numericSchema().nullable(),
    settledAt: numericSchema().nullable(),
    result: z.string().nullable(),
    error: z.string().nullable(),
  }),
);

/** The entry of a row that was selected by {@link SELECTED_COLUMNS_SQL}. */
export const entryOfRow = (row: unknown): StoredEntry => entryRowSchema().parse(row);

const laneRowSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    lane: z.string(),
    unleased: numericSchema().nullish(),
    quiet: numericSchema().nullish(),
    quietKey: z.string().nullish(),
  }),
);

/** The lane of a row, as the column stores it; how long ago its lease ended, and how much quiet time is left, in ms. */
export const laneOfRow = (row: unknown) => laneRowSchema().parse(row);

const deliveryRowSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    name: z.string(),
    file: z.string(),
    digest: z.string(),
    lines: numericSchema(),
    begunAt: numericSchema(),
    // No entry has this delivery yet.
    entries: z
      .string()
      .nullable()
      .transform((json) => z.partialRecord(z.enum(OUTBOX_STATES), z.number()).parse(JSON.parse(json ?? "{}"))),
  }),
);

/** The delivery of a row with these names. */
export const deliveryOfRow = (row: unknown): StoredDelivery => deliveryRowSchema().parse(row);

/** Whether a key of an added entry is stored with another input. */
export function isOtherInput(added: readonly NewEntry[], stored: readonly StoredEntry[]): boolean {
  const hashes = new Map(added.map(({ key, inputHash }) => [key, inputHash]));
  return stored.some(({ key, inputHash }) => hashes.get(key) !== inputHash);
}

const countsRowSchema = /* @__PURE__ */ lazy(() =>
  z
    .record(z.enum([...OUTBOX_STATES, "heldBack"]), numericSchema())
    .and(z.object({ oldestUnsettledAt: numericSchema().nullable() })),
);

/** The counts of a row with these names. */
export const countsOfRow = (row: unknown) => countsRowSchema().parse(row);
