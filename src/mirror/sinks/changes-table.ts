import { quoteName } from "../../storage/tables.js";
import type { ChangesQuery, MirrorChange } from "../copy/history.js";
import type { MirrorResource } from "../tables.js";
import { READ_BATCH_SIZE, type SqlDialect, type SqlSource, type SqlTypeNames, type SqlValue } from "./copy-tables.js";
import { decodeExtraFields, encodeExtraFields } from "./row-codec.js";

// The table of the history of a copy, see copy/history.ts. It is created when the history is switched on. A table of this
// name that others have created stays as it is, and recording fails.

export const CHANGES_TABLE = "changes";

/** Named as the fields of `MirrorChange`. */
export const CHANGES_COLUMNS = ["seq", "at", "resource", "key", "type", "before", "after"] as const;

/** The commands that create the table, with an index for the changes of one record. */
export const createChangesSql = ({ integer, text, extra }: SqlTypeNames, { nameOf }: SqlDialect): string => `
CREATE TABLE ${nameOf(CHANGES_TABLE)} ("seq" ${integer} PRIMARY KEY, "at" ${text} NOT NULL,
  "resource" ${text} NOT NULL, "key" ${text} NOT NULL, "type" ${text} NOT NULL, "before" ${extra}, "after" ${extra});
CREATE INDEX "stocklot_changes_key" ON ${nameOf(CHANGES_TABLE)} ("key", "resource")`;

/** Removes the rows up to the first that is not older than a time: those that stay are consecutive, whatever clocks did. */
export function expireChangesSql({ nameOf }: SqlDialect, time: string): string {
  const changes = nameOf(CHANGES_TABLE);
  const first = `SELECT "seq" FROM ${changes} WHERE "at" >= ${time} ORDER BY "seq" LIMIT 1`;
  return `DELETE FROM ${changes} WHERE "seq" < coalesce((${first}), ${Number.MAX_SAFE_INTEGER})`;
}

/** The values of `CHANGES_COLUMNS`. */
export const rowOfChange = ({ seq, at, resource, key, type, before, after }: MirrorChange) =>
  [
    seq,
    at,
    resource,
    String(key),
    type,
    before && encodeExtraFields(before),
    after && encodeExtraFields(after),
  ] as const;

/** The rows that a query asks for, in ascending order. */
export async function* changesInBatches(
  { after, resource, key }: ChangesQuery,
  { query, dialect: { nameOf, parameter } }: SqlSource,
): AsyncGenerator<readonly MirrorChange[]> {
  const where = { ...(resource && { resource }), ...(key !== undefined && { key: String(key) }) };
  const conditions = [
    `"seq" > ${parameter(1)}`,
    ...Object.keys(where).map((name, index) => `"${name}" = ${parameter(index + 2)}`),
  ];
  const sql = `
SELECT ${CHANGES_COLUMNS.map(quoteName)} FROM ${nameOf(CHANGES_TABLE)} WHERE ${conditions.join(" AND ")}
ORDER BY "seq" LIMIT ${READ_BATCH_SIZE}`;
  for (let last: number | undefined = after; last !== undefined; ) {
    const values: SqlValue[] = [last, ...Object.values(where)];
    const changes: MirrorChange[] = (await query(sql, values)).map(changeOfRow);
    if (changes.length > 0) yield changes;
    last = changes.at(READ_BATCH_SIZE - 1)?.seq;
  }
}

function changeOfRow({ seq, at, resource, key, type, before, after }: Readonly<Record<string, unknown>>): MirrorChange {
  const fieldsOf = (json: unknown) => (typeof json === "string" ? decodeExtraFields(json) : null);
  return {
    seq: Number(seq),
    at: String(at),
    resource: resource as MirrorResource,
    key: String(key).includes("/") ? String(key) : Number(key),
    type: type as MirrorChange["type"],
    before: fieldsOf(before),
    after: fieldsOf(after),
  };
}
