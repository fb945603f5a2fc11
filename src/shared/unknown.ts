export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether an object keeps its data in ordinary fields. A Map, an AbortSignal or a typed array does not. */
export const isRecord = (value: object) =>
  isPlainObject(value) || Object.prototype.toString.call(value) === "[object Object]";

export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm, such as that of a test runner, has another `Object.prototype`.
  return prototype === null || (typeof prototype === "object" && Object.getPrototypeOf(prototype) === null);
}

/** A field of any value; `undefined` if there is none. */
export const fieldOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name);

/** Casts data without a check: other code has validated the data or will, or the caller wants no validation. */
export const castUnchecked = <T>(data: unknown) => data as T;

/** The message of a thrown value, which may be anything, even a value that has no string. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return `a thrown ${typeof thrown}`;
  }
}

/** Returns a handler of rejections, for `catch`: an expected error becomes `undefined`, any other is thrown again. */
export const undefinedIf =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): undefined => {
    if (!isExpected(error)) throw error;
  };

/** Returns a text for a terminal, without control characters, which could change what the terminal shows. */
export const withoutControlCharacters = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");

/** Returns JSON in which control characters are escaped, which changes no value. Line breaks between its lines stay. */
export const escapeControlCharacters = (json: string) =>
  json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );

/** Returns a message in one line. Messages of OpenSSL have line breaks. */
export const toOneLine = (text: string) =>
  text
    .slice(0, MAX_REASON_LENGTH)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");

/** An exception of the caller's may quote a whole response. */
const MAX_REASON_LENGTH = 1_000;
