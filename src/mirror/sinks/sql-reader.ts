import { quoteName } from "../../storage/tables.js";
import type { MirrorReader } from "../sink.js";
import { type MirrorRecords, type MirrorResource, tableOf } from "../tables.js";
import {
  changesInBatches,
  READ_BATCH_SIZE,
  rowsInBatches,
  type SqlDialect,
  type SqlSource,
  type SqlValue,
  sqlPartsOf,
} from "./copy-tables.js";
import { RowCodec } from "./row-codec.js";

/**
 * Reads a copy for `openCopy`. Each batch is one query of its own: it continues behind the key of the batch before, so no
 * transaction stays open while the caller works, and a batch has what is in the copy by then.
 */
export const createSqlReader = (
  source: SqlSource,
  access: Pick<MirrorReader, "readState" | "close">,
): MirrorReader => ({
  ...access,
  find: (resource, where) => findInBatches(resource, where, source),
  changes: (query) => changesInBatches(query, source),
});

/** What `readState()` of a sink returns. */
export async function readStateAndClose(reader: MirrorReader | undefined): Promise<string | undefined> {
  try {
    return await reader?.readState();
  } finally {
    await reader?.close();
  }
}

async function* findInBatches<R extends MirrorResource>(
  resource: R,
  where: Readonly<Record<string, SqlValue>>,
  { dialect, query }: SqlSource,
): AsyncGenerator<readonly MirrorRecords[R][]> {
  const table = tableOf(resource);
  const codec = new RowCodec(table);
  const batches = rowsInBatches(table, READ_BATCH_SIZE, (last) => {
    const { sql, values } = findSql(resource, where, last, dialect);
    return query(sql, values);
  });
  // The rows of a resource were encoded from its records.
  for await (const rows of batches) yield rows.map((row) => codec.decode(row) as MirrorRecords[R]);
}

/** The query for the next batch of the records with these values, behind the key `last`. */
export function findSql(
  resource: MirrorResource,
  where: Readonly<Record<string, SqlValue>>,
  last: readonly number[],
  { nameOf, skuOf, parameter }: SqlDialect,
): { sql: string; values: SqlValue[] } {
  const table = tableOf(resource);
  const values: SqlValue[] = [];
  const bind = (value: SqlValue) => parameter(values.push(value));
  const hasSku = (sku: string) => `${skuOf(quoteName("shortID"))} IN (${comparableSkus(sku).map(bind)})`;
  const conditions = Object.entries(where).map(([field, value]) => {
    if (field !== "shortID") return `${quoteName(field)} = ${bind(value)}`;
    if (Object.hasOwn(table.columns, field)) return hasSku(String(value));
    return `"partNo" IN (SELECT "partNo" FROM ${nameOf("items")} WHERE ${hasSku(String(value))})`;
  });
  const { name, columns, key } = sqlPartsOf(table, nameOf);
  conditions.push(`(${key}) > (${last.map(bind)})`);
  const sql = `
SELECT ${columns} FROM ${name} WHERE ${conditions.join(" AND ")} ORDER BY ${key} LIMIT ${READ_BATCH_SIZE}`;
  return { sql, values };
}

/**
 * The values of `skuOf` that a SKU may have: the client compares SKUs without regard to surrounding spaces and case. Of
 * letters outside of ASCII, which the databases compare as they are, it finds those in the given case, and all in lower or
 * all in upper case.
 */
function comparableSkus(sku: string): string[] {
  const trimmed = sku.trim();
  const spellings = [sku, trimmed, trimmed.toLowerCase(), trimmed.toUpperCase()];
  const same = spellings.filter((spelling) => spelling.trim().toLowerCase() === trimmed.toLowerCase());
  return [...new Set(same.map((spelling) => lowerAscii(spelling.replace(/^ +| +$/g, ""))))];
}

const lowerAscii = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
