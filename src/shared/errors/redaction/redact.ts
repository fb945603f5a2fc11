import { isObject } from "../../unknown.js";
import { findSecrets } from "./secrets.js";

export const REDACTED = "[redacted]";

/** Replaces all secrets in a string. */
export const redact = (text: string): string => redactKinds(text, true);

/** Replaces client secrets and tokens, but not the values of client headers: for the caller's own data. */
export const redactCredentials = (text: string): string => redactKinds(text, false);

/** How much of a string is searched behind what is shown: enough for a part of a secret by which it is recognised. */
const SEARCHED_BEYOND_LENGTH = 8_192;

/**
 * The beginning of a string, in which all secrets are replaced, also one that continues behind it. However long the string is,
 * only a little more than what is shown is searched.
 */
export function redactStart(text: string, length: number): string {
  const shown = redactKinds(text.slice(0, length + SEARCHED_BEYOND_LENGTH), true, length);
  return text.length > length ? `${shown}…` : shown;
}

const FIXED_SEGMENTS_PATTERN = /^(\/(Token|Item|All|Inventory|StockLevels|Receive|Move|Issue)(?=\/|$))+/;

/** Replaces secrets in the path of a request, but keeps the segments by which the service names its endpoints. */
export function redactPath(path: string, redactText = redact): string {
  const [fixed = ""] = FIXED_SEGMENTS_PATTERN.exec(path) ?? [];
  return fixed + redactText(path.slice(fixed.length));
}

/** The first characters of a string, in which the secrets are replaced. */
function redactKinds(text: string, withHeaders: boolean, length = text.length): string {
  const parts: string[] = [];
  let shownFrom = 0;
  for (const [start, end] of [...findSecrets(text, withHeaders), ...findCredentials(text)].sort(([a], [b]) => a - b)) {
    if (start >= length) break;
    if (start >= shownFrom) parts.push(text.slice(shownFrom, start), REDACTED);
    shownFrom = Math.max(shownFrom, end);
  }
  return parts.join("") + text.slice(shownFrom, length);
}

/** A bearer token is at least this long, and so is a credential that is neither quoted nor part of a form. */
const MIN_CREDENTIAL_LENGTH = 16;

/** What precedes a credential: `Bearer `, `client_secret=`, `"access_token": "`. Bounded: megabytes of spaces would overflow the stack. */
const CREDENTIAL_NAME_PATTERN =
  /bearer\s{1,999}|(?:access_token|refresh_token|client_secret)[\\"']{0,999}\s{0,999}(?<separator>[:=])\s{0,999}(?<quotes>[\\"']{0,999})/gi;

const END_OF_TOKEN_PATTERN = /[^\w\-.~+/=]|$/;
const END_OF_VALUE_PATTERN = /[\\"'&\s,}]|$/;

/** Credentials that no client has registered, by what precedes them; but not the prose of `access_token: is required`. */
function findCredentials(text: string): [start: number, end: number][] {
  const found: [start: number, end: number][] = [];
  let end = 0;
  for (const { 0: name, index, groups } of text.matchAll(CREDENTIAL_NAME_PATTERN)) {
    // Not within a value that was found: searching it for each name would take quadratic time.
    if (index < end) continue;
    const start = index + name.length;
    const { separator, quotes } = groups ?? {};
    const length = text.slice(start).search(separator ? END_OF_VALUE_PATTERN : END_OF_TOKEN_PATTERN);
    if (length < (separator === "=" || quotes ? 1 : MIN_CREDENTIAL_LENGTH)) continue;
    end = start + length;
    found.push([start, end]);
  }
  return found;
}

/** Data that is nested deeper is replaced. */
const MAX_DATA_DEPTH = 100;

/** A copy of plain data in which no string shows a secret, or what else `redactText` replaces. Paths keep the segments of the endpoint. */
export function redactData<T>(data: T, redactText?: (text: string) => string): T;
export function redactData(data: unknown, redactText: (text: string) => string = redactPath): unknown {
  /** An object that was seen before is copied once, so that a cycle stays one. */
  const copies = new Map<object, unknown>();

  const copyOf = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redactText(value);
    if (!isObject(value)) return value;
    if (copies.has(value)) return copies.get(value);
    if (depth > MAX_DATA_DEPTH) return REDACTED;
    try {
      return copyOfObject(value, depth + 1);
    } catch {
      // A getter or a Proxy of the caller's.
      return REDACTED;
    }
  };

  const copyOfObject = (value: object, depth: number): unknown => {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
    const copy = Array.isArray(value) ? [] : {};
    copies.set(value, copy);
    for (const [key, part] of Object.entries(value)) {
      // Defined, since an assignment to "__proto__" would set the prototype.
      const property = { value: copyOf(part, depth), configurable: true, enumerable: true, writable: true };
      Object.defineProperty(copy, Array.isArray(value) ? key : redactText(key), property);
    }
    return copy;
  };

  return copyOf(data, 0);
}

/** The same for an object of this package. Its names are not searched: of many events, that would be most of the cost. */
export function redactFields<T extends object>(fields: T): T;
export function redactFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, redactData(value)]));
}
