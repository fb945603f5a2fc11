import { isObject } from "../unknown-value.js";
import type { TextRange } from "./secret-index.js";
import { findSecrets, type SecretKind } from "./secrets.js";

export const REDACTED = "[redacted]";

const ALL_KINDS: readonly SecretKind[] = ["credential", "header"];
const CREDENTIALS_ONLY: readonly SecretKind[] = ["credential"];

/** Replaces all secrets in a string. Never throws: a string that cannot be searched is replaced as a whole. */
export const redact = (text: string): string => redactKinds(text, ALL_KINDS);

/** How much of a string is searched behind what is shown: enough for a part of a secret by which it is recognised. */
const SEARCHED_BEYOND_LENGTH = 8_192;

/**
 * The beginning of a string, in which all secrets are replaced, also one that continues behind it. However long the string is,
 * only a little more than what is shown is searched.
 */
export function redactStart(text: string, length: number): string {
  const shown = redactKinds(text.slice(0, length + SEARCHED_BEYOND_LENGTH), ALL_KINDS, 0, length);
  return text.length > length ? `${shown}…` : shown;
}

/** Replaces client secrets and tokens, but not the values of client headers: for the caller's own data. */
export const redactCredentials = (text: string): string => redactKinds(text, CREDENTIALS_ONLY);

/** Replaces all secrets in the path of a request, but keeps the segments by which the service names its endpoints. */
export const redactPath = (path: string): string => redactKinds(path, ALL_KINDS, endOfFixedSegments(path));

/** Replaces client secrets and tokens in the path of a request, but keeps the segments of the endpoint. */
export const redactCredentialsInPath = (path: string): string =>
  redactKinds(path, CREDENTIALS_ONLY, endOfFixedSegments(path));

const FIXED_SEGMENTS_PATTERN = /^(\/(Token|Item|All|Inventory|StockLevels|Receive|Move|Issue)(?=\/|$))+/;

const endOfFixedSegments = (path: string) => FIXED_SEGMENTS_PATTERN.exec(path)?.[0].length ?? 0;

/** The text up to `until`, in which the secrets after `from` are replaced. */
function redactKinds(text: string, kinds: readonly SecretKind[], from = 0, until = text.length): string {
  try {
    const ranges = [...findSecrets(text, kinds), ...findCredentials(text)];
    const shown = ranges.filter(([start, end]) => end > from && start < until);
    return redactRanges(
      text.slice(0, until),
      shown.map(([start, end]) => [Math.max(start, from), end]),
    );
  } catch {
    return REDACTED;
  }
}

function redactRanges(text: string, ranges: TextRange[]): string {
  const parts: string[] = [];
  let shownFrom = 0;
  for (const [start, end] of ranges.sort(([a], [b]) => a - b)) {
    if (start >= shownFrom) parts.push(text.slice(shownFrom, start), REDACTED);
    shownFrom = Math.max(shownFrom, end);
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(shownFrom);
}

/** A bearer token is at least this long, and so is a credential that is neither quoted nor part of a form. */
const MIN_CREDENTIAL_LENGTH = 16;

const CREDENTIAL_NAME_PATTERN = /bearer|access_token|refresh_token|client_secret/gi;

// Bounded: on a string of megabytes, a pattern without a bound overflows the stack. `endOfRepeatedPattern` applies them
// repeatedly.
const SPACES_PATTERN = /\s{1,1000}/y;
const QUOTES_PATTERN = /[\\"']{1,1000}/y;
const TOKEN_PATTERN = /[\w\-.~+/]{1,1000}/y;
const BASE64_PADDING_PATTERN = /={1,1000}/y;
const CREDENTIAL_VALUE_PATTERN = /[^\\"'&\s,}]{1,1000}/y;

/** Credentials that no client has registered, by what precedes them. */
function findCredentials(text: string): TextRange[] {
  const found: TextRange[] = [];
  for (const { 0: name, index } of text.matchAll(CREDENTIAL_NAME_PATTERN)) {
    // Skipped within a value that was found: searching it for each name would take quadratic time.
    if (index < (found.at(-1)?.[1] ?? 0)) continue;
    const after = index + name.length;
    const range = name.toLowerCase() === "bearer" ? findBearerToken(text, after) : findNamedCredential(text, after);
    if (range) found.push(range);
  }
  return found;
}

/** `Bearer eyJhbGci…` */
function findBearerToken(text: string, after: number): TextRange | undefined {
  const start = endOfRepeatedPattern(text, after, SPACES_PATTERN);
  if (start === after) return undefined;
  const end = endOfRepeatedPattern(text, start, TOKEN_PATTERN);
  return end - start >= MIN_CREDENTIAL_LENGTH
    ? [start, endOfRepeatedPattern(text, end, BASE64_PADDING_PATTERN)]
    : undefined;
}

/** `client_secret=…`, `"access_token": "…"`; but not the prose of `access_token: is required`. */
function findNamedCredential(text: string, after: number): TextRange | undefined {
  const separatorAt = endOfRepeatedPattern(text, endOfRepeatedPattern(text, after, QUOTES_PATTERN), SPACES_PATTERN);
  const separator = text.charAt(separatorAt);
  if (separator !== ":" && separator !== "=") return undefined;
  const quotesAt = endOfRepeatedPattern(text, separatorAt + 1, SPACES_PATTERN);
  const start = endOfRepeatedPattern(text, quotesAt, QUOTES_PATTERN);
  const end = endOfRepeatedPattern(text, start, CREDENTIAL_VALUE_PATTERN);
  const isValue = separator === "=" || start > quotesAt || end - start >= MIN_CREDENTIAL_LENGTH;
  return isValue && end > start ? [start, end] : undefined;
}

function endOfRepeatedPattern(text: string, from: number, piece: RegExp): number {
  let end = from;
  piece.lastIndex = from;
  while (piece.test(text)) end = piece.lastIndex;
  return end;
}

/** Data that is nested deeper is replaced. */
const MAX_DATA_DEPTH = 100;

/** A copy of plain data in which no string shows a secret, or what else `redactText` replaces. Paths keep the segments of the endpoint. */
export function redactData<T>(data: T, redactText?: (text: string) => string): T;
export function redactData(data: unknown, redactText = redactPath): unknown {
  return redactValue(data, 0, { redactText, copies: new Map() });
}

/** The same for an object of this package. Its names are not searched: of many events, that would be most of the cost. */
export function redactFields<T extends object>(fields: T): T;
export function redactFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, redactData(value)]));
}

interface DataRedaction {
  redactText: (text: string) => string;
  /** An object that was seen before is copied once, so that a cycle stays one. */
  copies: Map<object, unknown>;
}

function redactValue(data: unknown, depth: number, redaction: DataRedaction): unknown {
  const { redactText, copies } = redaction;
  if (typeof data === "string") return redactText(data);
  if (!isObject(data)) return data;
  if (copies.has(data)) return copies.get(data);
  if (depth > MAX_DATA_DEPTH) return REDACTED;
  try {
    return redactObject(data, depth, redaction);
  } catch {
    // A getter or a Proxy of the caller's.
    return REDACTED;
  }
}

function redactObject(data: object, depth: number, redaction: DataRedaction): unknown {
  const { redactText, copies } = redaction;
  if (Array.isArray(data)) {
    const list: unknown[] = [];
    copies.set(data, list);
    for (const entry of data) list.push(redactValue(entry, depth + 1, redaction));
    return list;
  }
  const prototype = Object.getPrototypeOf(data);
  if (prototype !== Object.prototype && prototype !== null) return data;
  const copy = {};
  copies.set(data, copy);
  for (const [key, value] of Object.entries(data)) {
    // Defined, since an assignment to "__proto__" would set the prototype.
    const part = redactValue(value, depth + 1, redaction);
    Object.defineProperty(copy, redactText(key), { value: part, configurable: true, enumerable: true, writable: true });
  }
  return copy;
}
