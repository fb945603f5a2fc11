import { InputValidationError, type Issue } from "../../errors/index.js";
import { fieldOf, isObject, messageOf } from "../../errors/unknown-value.js";
import { isPlainObject, isRecord } from "../../schemas/copy-of.js";
import { MAX_JSON_NESTING } from "../response/parse-json.js";

/**
 * The JSON of a value of the caller's, each field of which is read once. What `JSON.stringify` would change or leave out
 * silently (NaN, a Map, a function) is refused. `at` is the argument's name.
 *
 * @throws InputValidationError that names the field.
 */
export function encodeJson(method: string, given: unknown, at: Issue["path"]): string {
  const path = [...at];
  try {
    return JSON.stringify(copyOf(given));
  } catch (error) {
    const message = error instanceof NotJson ? error.message : `cannot be sent: ${messageOf(error)}`;
    throw new InputValidationError(method, [{ path, message }]);
  }

  function copyOf(value: unknown): unknown {
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    if (typeof value === "number") throw new NotJson(`must be a finite number, not ${value}`);
    if (!isObject(value)) throw new NotJson(`must be JSON data, not ${describe(value)}`);
    if (value instanceof Date && Number.isNaN(value.getTime())) throw new NotJson("must be a valid Date");
    if (path.length > MAX_JSON_NESTING) throw new NotJson(`is nested deeper than ${MAX_JSON_NESTING} levels`);
    const toJSON = fieldOf(value, "toJSON");
    if (typeof toJSON === "function") return copyOf(toJSON.call(value));
    if (Array.isArray(value)) return value.map(copyOfPart);
    const entries: [string, unknown][] = [];
    if (isRecord(value))
      for (const name in value) {
        const part = fieldOf(value, name);
        if (part !== undefined) entries.push([name, copyOfPart(part, name)]);
      }
    // Otherwise it is not known where its data are: it would be sent as an empty object.
    if (entries.length > 0 || isPlainObject(value)) return Object.fromEntries(entries);
    throw new NotJson(`must be JSON data, not ${describe(value)}. Pass a plain object`);
  }

  function copyOfPart(part: unknown, step: string | number): unknown {
    path.push(step);
    const copy = copyOf(part);
    path.pop();
    return copy;
  }
}

class NotJson extends TypeError {}

const describe = (value: unknown) =>
  isObject(value)
    ? `a ${fieldOf(fieldOf(value, "constructor"), "name")}`
    : value === undefined
      ? "undefined"
      : `a ${typeof value}`;
