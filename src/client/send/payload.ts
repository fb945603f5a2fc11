import { isPlainObject, isRecord } from "../../shared/copy-of.js";
import { InputValidationError, type Issue } from "../../shared/errors/index.js";
import { fieldOf, isObject, messageOf } from "../../shared/unknown.js";

export const JSON_CONTENT_TYPE = "application/json";
const FORM_CONTENT_TYPE = "application/x-www-form-urlencoded";

/** Deeper nesting is refused: it overflows the stack of recursive code. */
const MAX_NESTING = 100;

/** What a request sends besides its method and headers. */
export interface EncodedRequest {
  /** Path and query behind the base URL. */
  target: string;
  query: Record<string, string>;
  contentType: string | undefined;
  body: string | undefined;
}

interface RequestParts {
  method: string;
  path: string;
  query?: Query | undefined;
  body?: unknown;
}

/**
 * Encodes the parts of a request, once for all attempts: later changes of the caller's objects have no effect.
 *
 * @throws InputValidationError if something cannot be encoded.
 */
export function encodeRequest({ method, path, query: given, body }: RequestParts): EncodedRequest {
  const label = `${method} ${path}`;
  try {
    const query = stringifyQueryParameters(given);
    const target = path + encodeQueryString(query);
    if (body === undefined) return { target, query, contentType: undefined, body };
    if (body instanceof URLSearchParams) return { target, query, contentType: FORM_CONTENT_TYPE, body: String(body) };
    return { target, query, contentType: JSON_CONTENT_TYPE, body: encodeJson(label, body, ["body"]) };
  } catch (error) {
    if (error instanceof InputValidationError) throw error;
    throw new InputValidationError(label, [{ path: ["query"], message: `cannot be sent: ${messageOf(error)}` }]);
  }
}

/** Parameters of a request; those that are `undefined` are left out. Dates are sent as ISO 8601 in UTC. */
export type Query = Readonly<Record<string, string | number | boolean | Date | undefined>>;

/** The parameters as they are sent. */
export function stringifyQueryParameters(query: Query = {}): Record<string, string> {
  const text: Record<string, string> = {};
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) text[name] = value instanceof Date ? value.toISOString() : String(value);
  }
  return text;
}

/** The query string with its question mark; empty if there are no parameters. A space becomes `%20`, a plus `%2B`. */
export function encodeQueryString(query: Record<string, string>): string {
  // Joined, since a concatenated string keeps all its parts in memory.
  const pairs: string[] = [];
  for (const name in query) pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(query[name] ?? "")}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

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
    if (path.length > MAX_NESTING) throw new NotJson(`is nested deeper than ${MAX_NESTING} levels`);
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
