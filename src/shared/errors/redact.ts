/*
 * No error, log line or hook shows a client secret or a token. Two rules, in this order:
 *
 * 1. They are not there. The secret is only in the body of the token request, the token only in the header of a request, and
 *    neither is put into an error, a log line or a hook: these have the method, the path and the response.
 * 2. Data from outside may repeat them (a proxy's error page, an exception of a fetch function). So every such text
 *    goes through `redact`, and of a foreign exception only name, message, code and stack are kept (`copyOfCause`).
 *
 * Replaced is what is known (secrets.ts), as it is and encoded, and the password of an address: `postgres://user:…`. Nothing
 * else: words such as "Bearer authentication required" stays.
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

/** How much of a string is searched behind what is shown: a secret may continue there. */
const SEARCHED_BEYOND_LENGTH = 8_192;

/** The beginning of a string, in which all secrets are replaced. Only a little more than that is searched. */
export function redactStart(text: string, length: number): string {
  const shown = redact(text.slice(0, length + SEARCHED_BEYOND_LENGTH));
  return text.length > length ? `${shown.slice(0, length)}…` : shown;
}

/** Data that is nested deeper is replaced. */
const MAX_DATA_DEPTH = 100;

/** A copy of plain data in which no string shows a secret. Other objects stay as they are. */
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

/** The same for an object of this package, whose names are not searched. */
export function redactFields<T extends object>(fields: T): T;
export function redactFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, redactData(value)]));
}

const MAX_CAUSE_DEPTH = 5;

/** A cause that shows nothing but its name, message, code and stack. An error of this package was redacted when it was created. */
export function copyOfCause(cause: unknown, depth = 0): unknown {
  try {
    if (isBrandedError(cause)) return cause;
    if (!isObject(cause) && typeof cause !== "function") return redactText(cause);
    // The class does not decide, since an error of another realm, such as that of a test runner, has another class.
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
