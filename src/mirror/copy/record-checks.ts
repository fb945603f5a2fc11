import { ResponseValidationError } from "../../errors/index.js";
import { isObject } from "../../errors/unknown-value.js";
import { type MirrorRecord, type MirrorResource, tableOf } from "../tables.js";

/** Levels of arrays and objects within a record: far more than any record needs, and fewer than SQL's JSON functions allow. */
const MAX_RECORD_NESTING = 500;

/** The number that identifies a record within its list. A record without one cannot be stored. */
export function recordNumberOf(resource: MirrorResource, record: MirrorRecord): number {
  const field = recordNumberField(resource);
  const value: unknown = Reflect.get(record, field);
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw new ResponseValidationError(`mirror: a record of ${resource} has no ${field}`, {
    status: 200,
    issues: [{ path: [field], message: "must be an integer" }],
  });
}

/** Comparing or writing a record that is nested deeper could overflow the stack, and SQL could not query it. */
export function checkRecordNesting(resource: MirrorResource, record: MirrorRecord): void {
  let level: object[] = [record];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_RECORD_NESTING) {
      const field = recordNumberField(resource);
      throw new ResponseValidationError(
        `mirror: the record of ${resource} with ${field} ${Reflect.get(record, field)} is nested deeper than ${MAX_RECORD_NESTING} levels`,
        { status: 200, issues: [{ path: [], message: `must not be nested deeper than ${MAX_RECORD_NESTING} levels` }] },
      );
    }
    level = level.flatMap((value) => Object.values(value).filter(isObject));
  }
}

const recordNumberField = (resource: MirrorResource) => tableOf(resource).key.at(-1) ?? "";
