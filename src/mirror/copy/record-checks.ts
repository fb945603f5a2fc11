import { ResponseValidationError } from "../../errors/index.js";
import { type MirrorRecord, type MirrorResource, tableOf } from "../tables.js";

/** The number that identifies a record within its list. A record without one cannot be stored. */
export function recordNumberOf(resource: MirrorResource, record: MirrorRecord): number {
  const field = tableOf(resource).key.at(-1) ?? "";
  const value: unknown = Reflect.get(record, field);
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw new ResponseValidationError(`mirror: a record of ${resource} has no ${field}`, {
    status: 200,
    issues: [{ path: [field], message: "must be an integer" }],
  });
}
