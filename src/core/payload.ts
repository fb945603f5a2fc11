import { InputValidationError } from "../errors/index.js";
import { messageOf } from "../errors/message-of.js";
import { type Query, queryString, queryText } from "./query.js";

export const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

/** What a request sends besides its method and headers. */
export interface Payload {
  /** Path and query behind the base URL. */
  target: string;
  query: Record<string, string>;
  contentType: string | undefined;
  body: string | undefined;
}

interface Parts {
  method: string;
  path: string;
  query?: Query | undefined;
  body?: unknown;
}

/**
 * Encodes the parts of a request, once for all its attempts: what the caller does to its objects later changes nothing.
 *
 * @throws InputValidationError when something cannot be encoded.
 */
export function encodePayload({ method, path, query: given, body }: Parts): Payload {
  let part = "query";
  try {
    const query = queryText(given);
    const target = path + queryString(query);
    part = "body";
    if (body === undefined) return { target, query, contentType: undefined, body };
    if (body instanceof URLSearchParams) return { target, query, contentType: FORM_TYPE, body: String(body) };
    return { target, query, contentType: JSON_TYPE, body: jsonText(body) };
  } catch (error) {
    const message = `cannot be sent: ${messageOf(error)}`;
    throw new InputValidationError(`${method} ${path}`, [{ path: [part], message }]);
  }
}

/** A function, for one, has no JSON at all, and would be sent as an empty body. */
function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("it has no form in JSON");
  return text;
}
