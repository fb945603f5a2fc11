/*
 * No error, log line or hook shows a client secret or a token. Two rules, in this order:
 *
 * 1. They are not there. The secret is only in the body of the token request, the token only in the header of a request, and
 *    neither is put into an error, a log line or a hook: these have the method, the path and the response.
 * 2. Data from outside may repeat them (a proxy's error page, an exception of a fetch function). So every such text
 *    goes through `redact`, and of a foreign exception only name, message, code and stack are kept (`copyOfCause`).
 *
 * Known are the secrets that were used last, as they are and as they are usually encoded, and long values of headers. Other
 * secrets are recognised by what precedes them: `Bearer …`, `client_secret=…`, `postgres://user:…`.
 */

import { setNewest } from "../bounded-map.js";
import { fieldOf, isObject } from "../unknown.js";
import { isBrandedError } from "./brand.js";

const REDACTED = "[redacted]";
const MAX_SECRETS = 1_000;
/** Of calls that have ended. They often have a value that occurs once, such as the ID of a trace. */
const MAX_ENDED_HEADERS = 50;
/** A shorter one may be an ordinary word: one of less than 8 characters counts only as a whole word, of less than 4 never. */
const MIN_LENGTH = 4;
const MIN_UNAMBIGUOUS_LENGTH = 8;
/** A shorter value of a header may be an ordinary word. */
const MIN_HEADER_LENGTH = 16;
const PUBLIC_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "user-agent"]);

/** Strings that must not be shown. The one that was used last is the last. */
class Secrets {
  readonly #forms = new Map<string, Form[]>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  add(secret: string): void {
    setNewest(this.#forms, secret, this.#forms.get(secret) ?? formsOf(secret), this.#max);
  }

  delete(secret: string): void {
    this.#forms.delete(secret);
  }

  replaceIn(text: string): string {
    let replaced = text;
    const lower = text.toLowerCase();
    for (const forms of this.#forms.values()) {
      for (const form of forms) {
        if (!lower.includes(form.core)) continue;
        form.pattern ??= new RegExp(form.source, "gi");
        replaced = replaced.replace(form.pattern, REDACTED);
      }
    }
    return replaced;
  }
}

/** One way in which a secret may be written. Patterns are large, and few are ever needed: they are built at first use. */
interface Form {
  /** The longest part that every encoding leaves as it is, in lower case. Nothing else can match. */
  core: string;
  source: string;
  pattern?: RegExp;
}

/** The beginning of a long secret is enough; what follows it is hidden, too. */
const MAX_MATCHED_LENGTH = 256;
const REST_SOURCE = "[^\\s\"'<>]*";

/** A secret as it is, and with its characters encoded as in a URL, a form, JSON or HTML; its base64; its bytes in hex. */
function formsOf(secret: string): Form[] {
  const bytes = [...new TextEncoder().encode(secret.slice(0, 3 * MAX_MATCHED_LENGTH))];
  const base64 = btoa(String.fromCharCode(...bytes));
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const sourceOfBase64 = (char: string) => ({ "+": "(?:[+-]|%2B)", "/": "(?:[/_]|%2F)" })[char] ?? char;
  const isShort = secret.length < MIN_UNAMBIGUOUS_LENGTH;
  const [start, end] = isShort ? ["(?<!\\w)", "(?!\\w)"] : ["", secret.length > MAX_MATCHED_LENGTH ? REST_SOURCE : ""];
  const formOf = (text: string, kept: RegExp, sourceOf: (char: string) => string): Form => ({
    core: text
      .split(kept)
      .reduce((longest, part) => (part.length > longest.length ? part : longest), "")
      .toLowerCase(),
    source: start + [...text].map(sourceOf).join("") + end,
  });
  const text = [...secret].slice(0, MAX_MATCHED_LENGTH).join("");
  return [
    formOf(text, /\W+/, sourceOfCharacter),
    formOf(base64.replace(/=+$/, ""), /[^A-Za-z0-9]+/, sourceOfBase64),
    formOf(hex, /\W+/, (digit) => digit),
  ];
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" };

function sourceOfCharacter(char: string): string {
  if (/^\w$/.test(char)) return char;
  const code = char.codePointAt(0) ?? 0;
  // Half of a surrogate pair is sent as U+FFFD.
  const sent = char.isWellFormed() ? char : "\ufffd";
  const units = [...Array(char.length).keys()].map((at) => char.charCodeAt(at).toString(16).padStart(4, "0"));
  const forms = [
    escaped(char),
    escaped(encodeURIComponent(sent)),
    `%${code.toString(16).padStart(2, "0")}`,
    units.map((unit) => `\\\\u${unit}`).join(""),
    `\\\\${escaped(char)}`,
    escaped(JSON.stringify(char).slice(1, -1)),
    `&#(?:0*${code}|x0*${code.toString(16)});`,
    ...(char in NAMED_ENTITIES ? [`&${NAMED_ENTITIES[char]};`] : []),
    ...(char === " " ? ["\\+"] : char === "+" ? [" "] : []),
    ...(sent === char ? [] : [sent]),
  ];
  return `(?:${forms.join("|")})`;
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

const credentials = /* @__PURE__ */ new Secrets(MAX_SECRETS);
const headerValues = /* @__PURE__ */ new Secrets(MAX_SECRETS);
const callHeaderValues = /* @__PURE__ */ new Secrets(Infinity);
const endedHeaderValues = /* @__PURE__ */ new Secrets(MAX_ENDED_HEADERS);
/** How many calls that have not ended have a value. */
const uses = /* @__PURE__ */ new Map<string, number>();

/** To be called before a secret or a token is used. */
export function rememberSecret(secret: string): void {
  if (secret.length >= MIN_LENGTH) credentials.add(secret);
}

/** The long values of a client's headers, and the credentials of those that begin with a scheme: `ApiKey 0123…`. */
export function rememberHeaders(headers: Readonly<Record<string, string>>): void {
  for (const value of longValuesOf(headers)) headerValues.add(value);
}

/** The same for the headers of a single call. Returns a function to be called when it has ended. */
export function rememberCallHeaders(headers: Readonly<Record<string, string>>): () => void {
  const values = longValuesOf(headers);
  for (const value of values) {
    callHeaderValues.add(value);
    uses.set(value, (uses.get(value) ?? 0) + 1);
  }
  return () => {
    for (const value of values) {
      const others = (uses.get(value) ?? 0) - 1;
      uses.set(value, others);
      if (others > 0) continue;
      uses.delete(value);
      callHeaderValues.delete(value);
      endedHeaderValues.add(value);
    }
  };
}

function longValuesOf(headers: Readonly<Record<string, string>>): Set<string> {
  const values = Object.entries(headers).flatMap(([name, raw]) => {
    const value = raw.trim();
    return PUBLIC_HEADERS.has(name.toLowerCase()) ? [] : [value, value.slice(value.indexOf(" ") + 1).trim()];
  });
  return new Set(values.filter(({ length }) => length >= MIN_HEADER_LENGTH));
}

const NAMED_SECRET_PATTERN =
  /(bearer |(?:access_token|refresh_token|client_secret)[\\"']{0,9}\s{0,9}[:=]\s{0,9}[\\"']{0,9})[\w\-.~+/=%]{12,}/gi;

/** Replaces client secrets and tokens, but not values of headers: for the caller's own data. */
export const redactCredentials = (text: string): string =>
  credentials.replaceIn(text.replace(NAMED_SECRET_PATTERN, `$1${REDACTED}`));

/** An address of a database or a proxy, up to its password. */
const PASSWORD_PATTERN = /(\w:?\/\/[^\s:/?#@]*:)[^\s/?#]+@/g;

/** Replaces all secrets in a string. */
export function redact(text: string): string {
  const shown = redactCredentials(text).replace(PASSWORD_PATTERN, `$1${REDACTED}@`);
  return [headerValues, callHeaderValues, endedHeaderValues].reduce((text, values) => values.replaceIn(text), shown);
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
    // Not by its class: an error of another realm, such as that of a test runner, has another one.
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
