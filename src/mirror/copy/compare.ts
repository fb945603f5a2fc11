import { isDeepStrictEqual } from "node:util";
import {
  type MirrorKey,
  type MirrorList,
  type MirrorRecord,
  type MirrorResource,
  type NumberedRecord,
  resourceKeyOf,
  type Table,
  tableOf,
} from "../tables.js";
import type { RecordChange } from "./history.js";

/** What a batch of records changes in a copy that has the `known` ones. */
export function compareWithCopy(
  list: MirrorList,
  records: readonly NumberedRecord[],
  known: ReadonlyMap<MirrorKey, MirrorRecord>,
) {
  const { resource } = list;
  const table = tableOf(resource);
  const upsert: MirrorRecord[] = [];
  const recordChanges: RecordChange[] = [];
  const expectedInIncrement: number[] = [];
  let added = 0;
  let lotsAreStale = false;
  for (const { number, record } of records) {
    const key = resourceKeyOf(list, number);
    const before = known.get(key);
    const fields = before && differingFields(table, before, record);
    if (fields?.length === 0) continue;
    upsert.push(record);
    recordChanges.push(
      fields
        ? { type: "changed", key, before: valuesOf(table, before, fields), after: valuesOf(table, record, fields) }
        : { type: "added", key, before: null, after: { ...record } },
    );
    if (!fields) added += 1;
    if (!fields || !doesChangeOnlyDenormalizedFields(resource, fields)) expectedInIncrement.push(number);
    lotsAreStale ||= fields !== undefined && doesChangeLotsToo(resource, fields);
  }
  return { upsert, changes: recordChanges, added, lotsAreStale, expectedInIncrement };
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
 * Fields that a lot shows of its item, warehouse, job and owner. They change with those, and the service does not document
 * that the lot then counts as modified.
 */
const DENORMALIZED_FIELDS: ReadonlySet<string> = new Set([
  "shortID",
  "description",
  "associate",
  "warehouse",
  "jobName",
]);

/** True if the service need not count the record as modified for these changes. */
function doesChangeOnlyDenormalizedFields(resource: MirrorResource, fields: readonly string[]): boolean {
  return resource === "lots" && fields.every((field) => DENORMALIZED_FIELDS.has(field));
}

/** True if lots show what changed in their item. */
function doesChangeLotsToo(resource: MirrorResource, fields: readonly string[]): boolean {
  return resource === "items" && fields.some((field) => DENORMALIZED_FIELDS.has(field));
}
