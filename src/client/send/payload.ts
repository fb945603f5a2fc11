import { describeKeyProblem } from "../../service/key.js";
import type { Operation } from "../../service/operations.js";
import { InputValidationError, type Issue } from "../../shared/errors/index.js";
import { fieldOf, isObject, isPlainObject, isRecord, messageOf } from "../../shared/unknown.js";

export const JSON_CONTENT_TYPE = "application/json";
const FORM_CONTENT_TYPE = "application/x-www-form-urlencoded";

/** Deeper nesting is refused: it overflows the stack of recursive code. */
const MAX_NESTING = 100;

/** The encoded parts of a request, apart from its method and headers. */
export interface EncodedRequest {
  /** Path and query behind the base URL. */
  target: string;
  query: Record<string, string>;
  contentType: string | undefined;
  body: string | undefined;
}

/** The parts of a request that are encoded. */
export interface RequestParts {
  method: string;
  /** Relative to the base URL, encoded. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON, or as a form if it is a `URLSearchParams`. */
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

/** Parameters of a request. `undefined` parameters are left out. Dates are sent as ISO 8601 in UTC. */
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
 * Returns a value of the caller's as JSON. Reads each field once. Refuses values that `JSON.stringify` would silently change
 * or leave out (NaN, a Map, a function). `at` is the argument's name.
 *
 * @throws InputValidationError that names the field.
 */
export function encodeJson(method: string, given: unknown, at: Issue["path"]): string {
  const paths = new Map<unknown, Issue["path"]>();
  let path = at;
  try {
    return JSON.stringify(given, function (this: unknown, name, value: unknown) {
      const parent = paths.get(this);
      path = parent ? [...parent, Array.isArray(this) ? Number(name) : name] : at;
      const isLeftOut = value === undefined && parent !== undefined && !Array.isArray(this);
      const problem = isLeftOut ? undefined : describeNotJson(value, path.length);
      // An invalid date becomes null.
      if (problem !== undefined || (value === null && fieldOf(this, name) instanceof Date))
        throw new NotJson(problem ?? "must be a valid Date");
      if (isObject(value)) paths.set(value, path);
      return value;
    });
  } catch (error) {
    const message = error instanceof NotJson ? error.message : `cannot be sent: ${messageOf(error)}`;
    throw new InputValidationError(method, [{ path: [...path], message }]);
  }
}

class NotJson extends TypeError {}

function describeNotJson(value: unknown, depth: number): string | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `must be a finite number, not ${value}`;
  if (!isObject(value)) return `must be JSON data, not ${value === undefined ? "undefined" : `a ${typeof value}`}`;
  if (depth > MAX_NESTING) return `is nested deeper than ${MAX_NESTING} levels`;
  const hasData = Array.isArray(value) || isPlainObject(value) || (isRecord(value) && Object.keys(value).length > 0);
  // It is not known where other objects keep their data: they would be sent as empty objects.
  return hasData
    ? undefined
    : `must be JSON data, not a ${fieldOf(fieldOf(value, "constructor"), "name")}. Pass a plain object`;
}

/** The path of an operation. A parameter is encoded as one segment, and rejected if a URL parser would drop it. */
export function pathOf({ path }: Operation, parameter: string | number = ""): string {
  return path.replace(/\{\w+\}/, () => {
    const message = describeKeyProblem(String(parameter));
    if (message) throw new InputValidationError("path", [{ path: [], message }]);
    return encodeURIComponent(parameter);
  });
}

export const requestOf = (operation: Operation, parameter?: string | number) => ({
  method: operation.method,
  path: pathOf(operation, parameter),
});

/** The problem of a path that the caller has encoded, or `undefined`. */
export function describePathProblem(given: unknown): string | undefined {
  if (typeof given !== "string" || !given.startsWith("/")) return 'must start with "/"';
  if (!/^([!$&'()*+,\-./\w:;=@~]|%[\da-f]{2})*$/i.test(given)) return "must be encoded, without a query or a fragment";
  // A proxy may decode an encoded slash before it resolves dot segments.
  const decoded = given.replace(/%(2f|5c)/gi, "/").replace(/%2e/gi, ".");
  return /\/\.{1,2}(\/|$)/.test(decoded) ? "must not have dot segments" : undefined;
}
