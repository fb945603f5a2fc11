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
import type { FieldChange } from "./events.js";
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
    const changes = before && fieldChangesBetween(table, before, record);
    if (changes?.length === 0) continue;
    upsert.push(record);
    recordChanges.push(
      changes
        ? { type: "changed", key, before: valuesOf(changes, "before"), after: valuesOf(changes, "after") }
        : { type: "added", key, before: null, after: { ...record } },
    );
    if (!changes) added += 1;
    if (!changes || !doesChangeOnlyDenormalizedFields(resource, changes)) expectedInIncrement.push(number);
    lotsAreStale ||= changes !== undefined && doesChangeLotsToo(resource, changes);
  }
  return { upsert, changes: recordChanges, added, lotsAreStale, expectedInIncrement };
}

/** One side of changes. JSON has no `undefined`: a field that the record did not have is left out. */
const valuesOf = (changes: readonly FieldChange[], side: "before" | "after") =>
  Object.fromEntries(changes.flatMap((change) => (change[side] === undefined ? [] : [[change.field, change[side]]])));

/** The fields in which two versions of a record differ. A documented field that is missing counts as `null`. */
function fieldChangesBetween(table: Table, before: MirrorRecord, after: MirrorRecord): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const was = columnValueOf(table, before, field);
    const is = columnValueOf(table, after, field);
    if (was !== is && !isDeepStrictEqual(was, is)) changes.push({ field, before: was, after: is });
  }
  return changes;
}

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
function doesChangeOnlyDenormalizedFields(resource: MirrorResource, changes: readonly FieldChange[]): boolean {
  return resource === "lots" && changes.every(({ field }) => DENORMALIZED_FIELDS.has(field));
}

/** True if lots show what changed in their item. */
function doesChangeLotsToo(resource: MirrorResource, changes: readonly FieldChange[]): boolean {
  return resource === "items" && changes.some(({ field }) => DENORMALIZED_FIELDS.has(field));
}
