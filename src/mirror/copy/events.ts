import type { MirrorKeyOf, MirrorRecord, MirrorRecords, MirrorResource } from "../tables.js";
import type { RecordChange } from "./history.js";

/** A change of one record, which the copy contains already; or a gap between such changes. */
export type MirrorEvent<R extends MirrorResource = MirrorResource> =
  | {
      [Resource in R]: MirrorEventOf<Resource>;
    }[R]
  | MirrorGap;

/**
 * Changes that the listener has not received have expired from the history of the copy, see the option `history`. Read the
 * records again. The next events are those that follow.
 */
export interface MirrorGap {
  /** Rows are missing. */
  type: "gap";
  /** A gap concerns no single record. */
  resource?: undefined;
  /** A gap concerns no single record. */
  key?: undefined;
  /** A gap concerns no single record. */
  record?: undefined;
}

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

/** The event for a change. @param record The record as it is now; if it is gone, as it was last. */
export function eventOf(resource: MirrorResource, change: RecordChange, record: MirrorRecord): MirrorEvent {
  const { type, key, before, after } = change;
  const event = { type, resource, key, record, ...(type === "changed" && { changes: fieldChangesOf(before, after) }) };
  // The compiler cannot follow the types of resource, key and record.
  return event as MirrorEvent;
}

function fieldChangesOf(before: RecordChange["before"], after: RecordChange["after"]): FieldChange[] {
  const [was, is] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  return [...new Set([...was.keys(), ...is.keys()])].map((field) => ({
    field,
    before: was.get(field),
    after: is.get(field),
  }));
}
