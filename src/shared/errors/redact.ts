/*
 * No error, log line or hook shows a client secret or a token. Two rules, in this order:
 *
 * 1. Errors, log lines and hooks are created from the method, the path and the response. The client secret is only in
 * the body of the
 *    token request, and the token is only in a header of requests, so neither becomes part of them.
 * 2. Data from outside may repeat a secret (a proxy's error page, an exception of a fetch function). So every such text
 * goes through
 *    `redact`. A foreign exception is reduced to its name, message, code and stack (`copyOfCause`).
 *
 * `redact` replaces the known secrets (secrets.ts), plain and encoded, and the password in an address such as
 * `postgres://user:…`. It replaces nothing else: a text such as "Bearer authentication required" stays.
 */
import { fieldOf, isObject } from "../unknown.js";
import { isBrandedError } from "./brand.js";
import { replaceSecrets } from "./secret-index.js";
import { credentials, headerValues } from "./secrets.js";

export const REDACTED = "[redacted]";
const ALL = [credentials, headerValues] as const;

/** Replaces client secrets and tokens, but not values of headers: for the caller's own data. */
export const redactCredentials = (text: string): string => replaceSecrets(text, [credentials], REDACTED);

/** An address of a database or a proxy, up to its password. */
const PASSWORD_PATTERN = /(\w:?\/\/[^\s:/?#@]*:)[^\s/?#]+@/g;

/** Replaces all secrets in a string. */
export function redact(text: string): string {
  const shown = replaceSecrets(text, ALL, REDACTED);
  return shown.includes("@") ? shown.replace(PASSWORD_PATTERN, `$1${REDACTED}@`) : shown;
}

/** How many characters after the shown part of a string are searched, too: a secret may continue there. */
const SEARCHED_BEYOND_LENGTH = 8_192;

/** Returns the beginning of a string, with all secrets replaced. Searches only this part and a little more. */
export function redactStart(text: string, length: number): string {
  const shown = redact(text.slice(0, length + SEARCHED_BEYOND_LENGTH));
  return text.length > length ? `${shown.slice(0, length)}…` : shown;
}

/** Data that is nested deeper is replaced. */
const MAX_DATA_DEPTH = 100;

/** Returns a copy of plain data in which no string shows a secret. Objects that are not plain data stay as they are. */
export function redactData<T>(data: T, redactText?: (text: string) => string, depth?: number): T;
export function redactData(data: unknown, redactText = redact, depth = 0): unknown {
  if (typeof data === "string") return redactText(data);
  if (!isObject(data)) return data;
  if (depth > MAX_DATA_DEPTH) return REDACTED;
  if (Array.isArray(data)) return data.map((part) => redactData(part, redactText, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(data);
  if (prototype !== Object.prototype && prototype !== null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, part]) => [redactText(name), redactData(part, redactText, depth + 1)]),
  );
}

/** Does the same for an object of this package. The names of its fields are not searched. */
export function redactFields<T extends object>(fields: T): T;
export function redactFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, redactData(value)]));
}

const MAX_CAUSE_DEPTH = 5;

/**
 * Returns a copy of a cause that has only its name, message, code and stack. An error of this package is returned as it
 * is, because it was redacted when it was created.
 */
export function copyOfCause(cause: unknown, depth = 0): unknown {
  try {
    if (isBrandedError(cause)) return cause;
    if (!isObject(cause) && typeof cause !== "function") return redactText(cause);
    // The class is not checked, because an error of another realm, such as the realm of a test runner, has another
    // class.
    const [name, message, stack, code] = ["name", "message", "stack", "code"].map((field) => fieldOf(cause, field));
    const inner = depth < MAX_CAUSE_DEPTH ? fieldOf(cause, "cause") : undefined;
    const text = typeof message === "string" ? redact(message) : `a thrown ${typeof cause}`;
    const copy = new Error(text, inner === undefined ? {} : { cause: copyOfCause(inner, depth + 1) });
    for (const [key, value] of Object.entries({ name, stack, code }))
      if (typeof value === "string") define(copy, key, redact(value));
    return copy;
  } catch {
    // A getter or a Proxy of the caller's.
    return new Error(REDACTED);
  }
}

const define = (copy: Error, key: string, value: string) =>
  Object.defineProperty(copy, key, { value, configurable: true, writable: true, enumerable: key === "code" });

const redactText = (value: unknown) => (typeof value === "string" ? redact(value) : value);
