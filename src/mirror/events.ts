import type { FieldChange } from "./changes.js";
import type { MirrorRecords, MirrorResource } from "./tables.js";

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
