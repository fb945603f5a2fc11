import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { ConfigurationError, InputValidationError } from "../../shared/errors/index.js";
import type { SqlRow, SqlValue } from "../../storage/database.js";
import type { MirrorRecord, MirrorResource, Table } from "../tables.js";
import { type CopyDatabase, type CopyRow, readCopyRow } from "./database.js";
import { decodeExtraFields, stringifyExactly } from "./row-codec.js";
import { CHANGES_COLUMNS, insertSql, type Statement } from "./sql.js";

/*
 * The history of a copy. Each change of a record is a row of the table `changes`, written in the transaction that
 * changes the record. The only row of `stocklot_mirror` has `seq`, the number of the last change, and `expired`, the
 * number of the last change that was removed. Every commit locks this row, so numbers are consecutive and ascend in the
 * order of commits.
 */

/** How long a history goes back. */
export interface MirrorHistoryOptions {
  /** How long changes are kept, in days: above 0, at most 36,525. Older changes are removed at the end of a run. */
  days: number;
}

/** A change of one record, as the table `changes` has it. */
export interface MirrorChange extends RecordChange {
  /** The number of the row: ascending in the order of commits, never reused. */
  seq: number;
  /** When the copy learned of the change, in ISO 8601. */
  at: string;
  /** The resource that the record belongs to. */
  resource: MirrorResource;
}

/** A change of one record of a resource. */
export interface RecordChange {
  /** The kind of the change. */
  type: "added" | "changed" | "removed";
  /**
   * Identifies the record within the resource: `recNo` of a lot, `partNo` of an item or a stock level, the string
   * `"wID/partNo"` of a stock level of one warehouse.
   */
  key: number | string;
  /** The previous values of the fields that differ. For a removed record: all fields. For an added record: `null`. */
  before: Readonly<Record<string, unknown>> | null;
  /** The new values of the fields that differ. For an added record: all fields. For a removed record: `null`. */
  after: Readonly<Record<string, unknown>> | null;
}

/** Selects rows of the table `changes`. A row must match all fields that are given. */
export interface CopyChangesFilter {
  /**
   * The number (`seq`) of a change: only changes that follow it.
   * @default all changes
   */
  after?: number | undefined;
  /** Only changes of this resource. */
  resource?: MirrorResource | undefined;
  /** Only changes of the record with this key. */
  key?: number | string | undefined;
}

/** A century of days, so that dates stay valid. */
export const MAX_HISTORY_DAYS = 36_525;

export const historyOptionSchema = () =>
  z.union([z.literal(false), z.strictObject({ days: z.number().positive().max(MAX_HISTORY_DAYS) })], {
    error: `must be false, or { days } with a number of days from above 0 to ${MAX_HISTORY_DAYS}`,
  });

/**
 * Returns the change that turns a record of the copy into the record of the list; `undefined` if they do not differ.
 * `before` is `undefined` if the copy does not have the record.
 */
export function compareRecords(
  table: Table,
  key: RecordChange["key"],
  before: MirrorRecord | undefined,
  after: MirrorRecord,
): RecordChange | undefined {
  if (before === undefined) return { type: "added", key, before: null, after: { ...after } };
  const fields = differingFields(table, before, after);
  if (fields.length === 0) return undefined;
  return { type: "changed", key, before: valuesOf(table, before, fields), after: valuesOf(table, after, fields) };
}

/** The fields in which two versions of a record differ. A documented field that is missing counts as `null`. */
const differingFields = (table: Table, before: MirrorRecord, after: MirrorRecord): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((field) => {
    const was = columnValueOf(table, before, field);
    const is = columnValueOf(table, after, field);
    return was !== is && !isDeepStrictEqual(was, is);
  });

/** The values of these fields. JSON has no `undefined`: a field that the record does not have is left out. */
const valuesOf = (table: Table, record: MirrorRecord, fields: readonly string[]) =>
  Object.fromEntries(
    fields
      .map((field): [string, unknown] => [field, columnValueOf(table, record, field)])
      .filter(([, value]) => value !== undefined),
  );

function columnValueOf(table: Table, record: MirrorRecord, field: string): unknown {
  const value: unknown = Object.hasOwn(record, field) ? Reflect.get(record, field) : undefined;
  return value === undefined && Object.hasOwn(table.columns, field) ? null : value;
}

/**
 * Fields in which a lot shows its item, warehouse, job and owner. They change when, for example, the item is renamed.
 * The service does not document that the lot then counts as modified.
 */
const FIELDS_OF_OTHERS: ReadonlySet<string> = new Set(["shortID", "description", "associate", "warehouse", "jobName"]);

/** Whether an increment must list a record that has changed like this. */
export const mustCountAsModified = (resource: MirrorResource, { type, before, after }: RecordChange): boolean =>
  resource !== "lots" ||
  type !== "changed" ||
  Object.keys({ ...before, ...after }).some((field) => !FIELDS_OF_OTHERS.has(field));

/** Returns the statement that adds rows to the history, with the numbers that follow `seq`. */
export function recordChanges(
  { dialect }: CopyDatabase,
  resource: MirrorResource,
  changes: readonly RecordChange[],
  seq: number,
): Statement {
  const at = new Date().toISOString();
  const json = (fields: object | null) => fields && stringifyExactly(fields);
  const rows = changes.map(({ key, type, before, after }, index): SqlValue[] => [
    ...[seq + 1 + index, at, resource, String(key), type],
    ...[json(before), json(after)],
  ]);
  const columns = Object.keys(CHANGES_COLUMNS);
  return { ...insertSql(dialect, "changes", CHANGES_COLUMNS, ["seq"]), rows, columns };
}

const CHANGES_PER_QUERY = 1_000;

/**
 * Returns the rows of the history that a filter selects, in ascending order of `seq`. Each batch is read in its own
 * transaction.
 */
export async function* readChanges(
  database: CopyDatabase,
  { after, resource, key }: CopyChangesFilter,
): AsyncGenerator<MirrorChange, void, undefined> {
  const copy = await readCopyRow(database);
  if (copy.historyDays === null) throw noHistoryError();
  assertNotExpired(copy, after ?? copy.expired);
  const { dialect, query } = database;
  const where = { ...(resource && { resource }), ...(key !== undefined && { key: String(key) }) };
  const conditions = ['"seq" > $1', ...Object.keys(where).map((name, index) => `"${name}" = $${index + 2}`)];
  const sql = `SELECT changes.*, (SELECT expired FROM ${dialect.nameOf("stocklot_mirror")}) AS expired
FROM ${dialect.nameOf("changes")} AS changes WHERE ${conditions.join(" AND ")} ORDER BY "seq" LIMIT ${CHANGES_PER_QUERY}`;
  let last = after ?? copy.expired;
  for (;;) {
    const rows = await query(sql, [last, ...Object.values(where)]);
    // The query returns the rows and `expired` as they were at the same moment.
    const expired = rows.length === 0 ? (await readCopyRow(database)).expired : Number(rows[0]?.expired);
    if (expired > last) throw expiredWhileReadError(last, expired);
    yield* rows.map(changeOf);
    const end = rows.at(CHANGES_PER_QUERY - 1);
    if (end === undefined) return;
    last = Number(end.seq);
  }
}

function changeOf({ seq, at, resource, key, type, before, after }: SqlRow): MirrorChange {
  const fieldsIn = (json: unknown) => (typeof json === "string" ? decodeExtraFields(json) : null);
  return {
    seq: Number(seq),
    at: String(at),
    // The types are right, because a mirror has written the row.
    resource: resource as MirrorResource,
    key: String(key).includes("/") ? String(key) : Number(key),
    type: type as MirrorChange["type"],
    before: fieldsIn(before),
    after: fieldsIn(after),
  };
}

const noHistoryError = () =>
  new ConfigurationError(
    "copy.changes: the copy has no history. Create its mirror with the option history: { days }; changes from then on are recorded.",
  );

const expiredWhileReadError = (last: number, expired: number) =>
  new ConfigurationError(
    `copy.changes: rows that follow ${last} have expired while they were read, up to ${expired}. ` +
      `Read the records, then continue with after: ${expired}; read faster, or keep changes for more days.`,
  );

function assertNotExpired({ seq, expired }: CopyRow, after: number): void {
  if (after >= expired && after <= seq) return;
  const message =
    after > seq
      ? `${after} is greater than ${seq}, the last row. The copy was created anew: begin without after`
      : `the rows from ${after + 1} to ${expired} have expired. Read the records, then continue with after: ${expired}`;
  throw new InputValidationError("copy.changes", [{ path: ["after"], message }]);
}
