import { InputValidationError } from "../../errors/index.js";
import { messageOf } from "../../errors/unknown-value.js";
import { encodeJson } from "./json-data.js";

export const JSON_CONTENT_TYPE = "application/json";
const FORM_CONTENT_TYPE = "application/x-www-form-urlencoded";

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
