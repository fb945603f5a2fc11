import type { FieldChange } from "./changes.js";
import type { MirrorRecords, MirrorResource } from "./tables.js";

/** What happened to one record, told after the copy has it. */
export type MirrorEvent<R extends MirrorResource = MirrorResource> = {
  [Resource in R]: MirrorEventOf<Resource>;
}[R];

/** What can happen to a record of one resource. */
export type MirrorEventOf<R extends MirrorResource> =
  /** The copy did not have the record before. */
  | { type: "added"; resource: R; record: MirrorRecords[R] }
  /** Some fields are not what they were: `changes` names each, with both values. */
  | { type: "changed"; resource: R; record: MirrorRecords[R]; changes: FieldChange[] }
  /** The service no longer has the record; `record` is what the copy had last. */
  | { type: "removed"; resource: R; record: MirrorRecords[R] };
