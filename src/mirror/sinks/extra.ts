import { exactJson } from "./json.js";

/** Neither PostgreSQL nor SQLite can make text of these, not even out of JSON; and what would look like one that was escaped. */
const UNFIT = /[\0\p{Surrogate}]|\\(?=u[\da-f]{4})/gu;

const ESCAPED = /\\u([\da-f]{4})/g;

/**
 * The JSON of the column `extra`, which databases can look into. A NUL in a text or a name, and half of a surrogate pair, are
 * spelled `\u0000` and so on: a backslash and five characters.
 */
export const extraOf = (fields: object): string => exactJson(fields, escaped);

/** The fields that `extra` was made of. */
export function fieldsOf(extra: string): Record<string, unknown> {
  // The backslash of an escape is escaped itself by JSON.
  return extra.includes("\\\\u") ? JSON.parse(extra, unescapedWithin) : JSON.parse(extra);
}

const escaped = (text: string) =>
  text.replace(UNFIT, (unfit) => `\\u${unfit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const unescaped = (text: string) =>
  text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function unescapedWithin(_: string, value: unknown): unknown {
  if (typeof value === "string") return unescaped(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [unescaped(name), member]));
}
