import { isDeepStrictEqual } from "node:util";
import type { MirrorKeyOf, MirrorRecord, MirrorRecords, MirrorResource, Table } from "../tables.js";

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

/** The fields in which two versions of a record differ. A documented field that is missing counts as `null`. */
export function fieldChangesBetween(table: Table, before: MirrorRecord, after: MirrorRecord): FieldChange[] {
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
export function doesChangeOnlyDenormalizedFields(resource: MirrorResource, changes: readonly FieldChange[]): boolean {
  return resource === "lots" && changes.every(({ field }) => DENORMALIZED_FIELDS.has(field));
}

/** True if lots show what changed in their item. */
export function doesChangeLotsToo(resource: MirrorResource, changes: readonly FieldChange[]): boolean {
  return resource === "items" && changes.some(({ field }) => DENORMALIZED_FIELDS.has(field));
}
