import * as z from "zod";
import { integer, lazy, type SameShape } from "../../shared/field.js";
import type { RecordKey } from "./seen-keys.js";

/**
 * How far an iteration was consumed: a small plain object that you may store as JSON. Read only the field `done`; the
 * other fields may change in later versions. A checkpoint in an unknown form is rejected with an
 * `InputValidationError`.
 */
export interface Checkpoint {
  /**
   * True if the list was read to its end. An iteration that continues from here returns the records that were added at
   * the end since.
   */
  done: boolean;
  /** Version number of the form of this object. */
  version: 1;
  /** The list that was read: path and parameters. */
  list: string;
  /** Position up to which it was read, as far as is known: changes of the list move it. */
  end: number;
  /** Records in the list at that time. */
  totalCount: number;
  /** Page size that the service applied, in records. */
  pageSize: number;
  /** Keys of the records returned last. */
  keys: (string | number)[];
}

export const checkpointSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    done: z.boolean(),
    version: z.literal(1),
    list: z.string(),
    end: integer().min(0),
    totalCount: integer().min(0),
    pageSize: integer().min(1),
    keys: z.array(z.union([z.string(), z.number()])),
  }),
);

true satisfies SameShape<Checkpoint, typeof checkpointSchema>;

/**
 * How many keys a checkpoint contains. Any of them, seen again, shows where the iteration continues. Only if all of these
 * records are removed, or have moved further than can be searched, the list has to be read from its start again.
 */
const MAX_CHECKPOINT_KEYS = 250;

/** The keys emitted last, with those of one more page. Keys that JSON changes are left out: they would not be found again. */
export function appendCheckpointKeys(
  keys: readonly RecordKey[],
  added: readonly (RecordKey | undefined)[],
): RecordKey[] {
  const usable = (key: unknown): key is RecordKey => typeof key === "string" || Number.isFinite(key);
  return [...keys, ...added.filter(usable)].slice(-MAX_CHECKPOINT_KEYS);
}
