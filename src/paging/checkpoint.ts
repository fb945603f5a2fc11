import * as z from "zod";
import { integer, lazy, type SameShape } from "../schemas/field.js";
import type { RecordKey } from "./seen-keys.js";

/**
 * How far an iteration was consumed: a small plain object that may be kept as JSON. Of its fields only `done` is meant to be
 * looked at; what the others are for may change, and a checkpoint in a form that is not known any more is refused.
 */
export interface Checkpoint {
  /** True when the list was read to its end; an iteration that goes on there gives what has been added behind it since. */
  done: boolean;
  /** Version number of the form of this object. */
  version: 1;
  /** The list that was read: path and parameters. */
  list: string;
  /** Position up to which it was read. */
  end: number;
  /** Records in the list at that time. */
  totalCount: number;
  /** Page size that the service applied, in records. */
  pageSize: number;
  /** Keys of the records given last. */
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
 * So many keys go into a checkpoint. Any of them, met again, shows where the iteration goes on, so all of these records would
 * have to be removed, or to move further than can be searched, before the list has to be read from its start again.
 */
const KEPT_KEYS = 250;

/** The keys given last, after those of one more page. What JSON does not keep as it is cannot be found again. */
export function keysAfter(keys: readonly RecordKey[], added: readonly (RecordKey | undefined)[]): RecordKey[] {
  const usable = (key: unknown): key is RecordKey => typeof key === "string" || Number.isFinite(key);
  return [...keys, ...added.filter(usable)].slice(-KEPT_KEYS);
}
