import { isDeepStrictEqual } from "node:util";
import type { MirrorRecord, MirrorRecords, MirrorResource, Table } from "./tables.js";

/** What happened to one record, told after the copy has it. */
export type MirrorEvent<R extends MirrorResource = MirrorResource> = {
  [Resource in R]: MirrorEventOf<Resource>;
}[R];

/** What can happen to a record of one resource. */
export type MirrorEventOf<R extends MirrorResource> =
  | {
      /** The copy did not have the record before. */
      type: "added";
      /** Which list it is of. */
      resource: R;
      /** The record as it is now. */
      record: MirrorRecords[R];
    }
  | {
      /** Some fields are not what they were. */
      type: "changed";
      /** Which list it is of. */
      resource: R;
      /** The record as it is now. */
      record: MirrorRecords[R];
      /** Each field that changed, with both values. */
      changes: FieldChange[];
    }
  | {
      /** The service no longer has the record. */
      type: "removed";
      /** Which list it was of. */
      resource: R;
      /** What the copy had last. */
      record: MirrorRecords[R];
    };

/** One field of a record that is no longer what the copy had. */
export interface FieldChange {
  /** Name of the field, as on the wire. */
  field: string;
  /** `undefined` where the record did not have the field. */
  before: unknown;
  /** `undefined` where the record no longer has the field. */
  after: unknown;
}

/** In which fields two versions of a record differ. A documented field that is missing counts as `null`. */
export function changesBetween(table: Table, before: MirrorRecord, after: MirrorRecord): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const was = fieldOf(table, before, field);
    const is = fieldOf(table, after, field);
    if (was !== is && !isDeepStrictEqual(was, is)) changes.push({ field, before: was, after: is });
  }
  return changes;
}

function fieldOf(table: Table, record: MirrorRecord, field: string): unknown {
  const value: unknown = Object.hasOwn(record, field) ? Reflect.get(record, field) : undefined;
  return value === undefined && Object.hasOwn(table.columns, field) ? null : value;
}

/**
 * Fields of a lot that belong to something else: the item, the warehouse, the job, the owner. When that changes, so do they,
 * and nothing says that the lot then counts as modified.
 */
const DENORMALIZED_FIELDS: ReadonlySet<string> = new Set([
  "shortID",
  "description",
  "associate",
  "warehouse",
  "jobName",
]);

/** True if the service need not count the record as modified for these changes. */
export function changesOnlyDenormalized(resource: MirrorResource, changes: readonly FieldChange[]): boolean {
  return resource === "lots" && changes.every(({ field }) => DENORMALIZED_FIELDS.has(field));
}

/** True if such changes of an item show in its lots too. */
export function changesDenormalized(resource: MirrorResource, changes: readonly FieldChange[]): boolean {
  return resource === "items" && changes.some(({ field }) => DENORMALIZED_FIELDS.has(field));
}
