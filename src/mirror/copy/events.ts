import { isDeepStrictEqual } from "node:util";
import {
  type MirrorKey,
  type MirrorKeyOf,
  type MirrorRecord,
  type MirrorRecords,
  type MirrorResource,
  type Table,
  tableOf,
} from "../tables.js";
import { type MirrorList, recordNumberOf, resourceKeyOf } from "./lists.js";
import type { PendingEvent } from "./state.js";

/** A change of one record. The copy contains the change already. */
export type MirrorEvent<R extends MirrorResource = MirrorResource> = {
  [Resource in R]: MirrorEventOf<Resource>;
}[R];

/** A change of one record of one resource. */
export type MirrorEventOf<R extends MirrorResource> =
  | {
      /** The record is new in the copy. */
      type: "added";
      /** The resource that the record belongs to. */
      resource: R;
      /** Identifies the record within the resource. */
      key: MirrorKeyOf<R>;
      /** The record as it is now. */
      record: MirrorRecords[R];
    }
  | {
      /** Some fields of the record have changed. */
      type: "changed";
      /** The resource that the record belongs to. */
      resource: R;
      /** Identifies the record within the resource. */
      key: MirrorKeyOf<R>;
      /** The record as it is now. */
      record: MirrorRecords[R];
      /** Each field that changed, with both values. */
      changes: FieldChange[];
    }
  | {
      /** The service no longer has the record, and it was removed from the copy. */
      type: "removed";
      /** The resource that the record belonged to. */
      resource: R;
      /** Identified the record within the resource. */
      key: MirrorKeyOf<R>;
      /** The record as the copy had it last. */
      record: MirrorRecords[R];
    };

/** One field of a record that differs from the copy. */
export interface FieldChange {
  /** Name of the field, as on the wire. */
  field: string;
  /** `undefined` if the record did not have the field. */
  before: unknown;
  /** `undefined` if the record no longer has the field. */
  after: unknown;
}

/** What a batch of records changes in a copy that has the `known` ones. */
export function compareWithCopy(
  list: MirrorList,
  records: readonly MirrorRecord[],
  known: ReadonlyMap<MirrorKey, MirrorRecord>,
) {
  const { resource } = list;
  const table = tableOf(resource);
  const upsert: MirrorRecord[] = [];
  const events: PendingEvent[] = [];
  const expectedInIncrement: number[] = [];
  let added = 0;
  let lotsAreStale = false;
  for (const record of records) {
    const number = recordNumberOf(resource, record);
    const key = resourceKeyOf(list, number);
    const before = known.get(key);
    const changes = before && fieldChangesBetween(table, before, record);
    if (changes?.length === 0) continue;
    upsert.push(record);
    events.push(changes ? { type: "changed", key, changes } : { type: "added", key });
    if (!changes) added += 1;
    if (!changes || !doesChangeOnlyDenormalizedFields(resource, changes)) expectedInIncrement.push(number);
    lotsAreStale ||= changes !== undefined && doesChangeLotsToo(resource, changes);
  }
  return { upsert, events, added, lotsAreStale, expectedInIncrement };
}

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
