import { isObject } from "../unknown-value.js";
import { findSecrets, type Range } from "./secrets.js";

export const REDACTED = "[redacted]";

/** Replaces all secrets in a text. Never throws: a text that cannot be searched is replaced as a whole. */
export function redact(text: string): string {
  try {
    return replaceRanges(text, [...findSecrets(text), ...findCredentials(text)]);
  } catch {
    return REDACTED;
  }
}

function replaceRanges(text: string, ranges: Range[]): string {
  const parts: string[] = [];
  let shownFrom = 0;
  for (const [start, end] of ranges.sort(([a], [b]) => a - b)) {
    if (start >= shownFrom) parts.push(text.slice(shownFrom, start), REDACTED);
    shownFrom = Math.max(shownFrom, end);
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(shownFrom);
}

/** A bearer token is at least this long, and so is a credential that is neither quoted nor part of a form. */
const SHORTEST_CREDENTIAL = 16;

const CREDENTIAL_NAME = /bearer|access_token|refresh_token|client_secret/gi;

// Bounded: on a text of megabytes, a pattern without a bound overflows the stack. `endOfRun` applies them repeatedly.
const SPACES = /\s{1,1000}/y;
const QUOTES = /[\\"']{1,1000}/y;
const TOKEN = /[\w\-.~+/]{1,1000}/y;
const PADDING = /={1,1000}/y;
const VALUE = /[^\\"'&\s,}]{1,1000}/y;

/** Credentials that no client has registered, by what precedes them. */
function findCredentials(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: name, index } of text.matchAll(CREDENTIAL_NAME)) {
    // Skipped within a value that was found: searching it for each name would take quadratic time.
    if (index < (found.at(-1)?.[1] ?? 0)) continue;
    const after = index + name.length;
    const range = name.toLowerCase() === "bearer" ? bearerToken(text, after) : credential(text, after);
    if (range) found.push(range);
  }
  return found;
}

/** `Bearer eyJhbGci…` */
function bearerToken(text: string, after: number): Range | undefined {
  const start = endOfRun(text, after, SPACES);
  if (start === after) return undefined;
  const end = endOfRun(text, start, TOKEN);
  return end - start >= SHORTEST_CREDENTIAL ? [start, endOfRun(text, end, PADDING)] : undefined;
}

/** `client_secret=…`, `"access_token": "…"`; but not the prose of `access_token: is required`. */
function credential(text: string, after: number): Range | undefined {
  const separatorAt = endOfRun(text, endOfRun(text, after, QUOTES), SPACES);
  const separator = text.charAt(separatorAt);
  if (separator !== ":" && separator !== "=") return undefined;
  const quotesAt = endOfRun(text, separatorAt + 1, SPACES);
  const start = endOfRun(text, quotesAt, QUOTES);
  const end = endOfRun(text, start, VALUE);
  const isValue = separator === "=" || start > quotesAt || end - start >= SHORTEST_CREDENTIAL;
  return isValue && end > start ? [start, end] : undefined;
}

function endOfRun(text: string, from: number, piece: RegExp): number {
  let end = from;
  piece.lastIndex = from;
  while (piece.test(text)) end = piece.lastIndex;
  return end;
}

/** Data that is nested deeper is replaced. */
const MAX_DEPTH = 100;

/** A copy of plain data in which no string shows a secret. */
export function redactData<T>(data: T): T;
export function redactData(data: unknown): unknown {
  return redactPart(data, 0, new Map());
}

/** An object that was seen before is copied once, so that a cycle stays one. */
function redactPart(data: unknown, depth: number, copies: Map<object, unknown>): unknown {
  if (typeof data === "string") return redact(data);
  if (!isObject(data)) return data;
  if (copies.has(data)) return copies.get(data);
  if (depth > MAX_DEPTH) return REDACTED;
  try {
    return copyRedacted(data, depth, copies);
  } catch {
    // A getter or a Proxy of the caller's.
    return REDACTED;
  }
}

function copyRedacted(data: object, depth: number, copies: Map<object, unknown>): unknown {
  if (Array.isArray(data)) {
    const list: unknown[] = [];
    copies.set(data, list);
    for (const entry of data) list.push(redactPart(entry, depth + 1, copies));
    return list;
  }
  const prototype = Object.getPrototypeOf(data);
  if (prototype !== Object.prototype && prototype !== null) return data;
  const copy = {};
  copies.set(data, copy);
  for (const [key, value] of Object.entries(data)) {
    // Defined, since an assignment to "__proto__" would set the prototype.
    const part = redactPart(value, depth + 1, copies);
    Object.defineProperty(copy, redact(key), { value: part, configurable: true, enumerable: true, writable: true });
  }
  return copy;
}
