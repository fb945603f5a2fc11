import type { OpenStore } from "../../outbox/for-rooms.js";
import type { Notations } from "../../plan/for-rooms.js";

/*
 * The key of a line, which identifies it for ever:
 *
 *   NAME:LINE           by default, and with --delivery
 *   COLUMN=VALUE        with --key
 *   NAME/COLUMN=VALUE   with both
 *
 * Names and values are in NFC and percent-encoded, so that no two lines of whatever files share a key.
 */

const encoded = (text: string) => encodeURIComponent(text.normalize("NFC"));

export const keyOfLine = (delivery: string, line: number): string => `${encoded(delivery)}:${line}`;

export const keyOfValue = (delivery: string | undefined, column: string, value: string): string =>
  `${valuePrefix(delivery, column)}${encoded(value)}`;

/** Returns the beginning of all keys of a column. */
export const valuePrefix = (delivery: string | undefined, column: string): string =>
  `${delivery === undefined ? "" : `${encoded(delivery)}/`}${encoded(column)}=`;

/** Returns the beginnings of all keys of a delivery, whether it was imported by lines or by a column. */
export const deliveryPrefixes = (delivery: string): [string, string] => [
  `${encoded(delivery)}:`,
  `${encoded(delivery)}/`,
];

/** Returns the keys that a person may mean who types names and values without percent-encoding. */
export function keysAsTyped(text: string): string[] {
  const keys = new Set([text, text.normalize("NFC")]);
  const [, name = "", line = ""] = /^(.*):(\d+)$/s.exec(text) ?? [];
  if (name !== "") keys.add(keyOfLine(name, Number(line)));
  for (const { index } of text.matchAll(/=/g)) {
    const [left, value] = [text.slice(0, index), text.slice(index + 1)];
    keys.add(keyOfValue(undefined, left, value));
    for (const { index: slash } of left.matchAll(/\//g))
      keys.add(keyOfValue(left.slice(0, slash), left.slice(slash + 1), value));
  }
  return [...keys];
}

/** Returns the value in a key of a column; `undefined` if the key is not a key of the column. */
export function valueOfKey(key: string, prefix: string): string | undefined {
  if (!key.startsWith(prefix)) return undefined;
  try {
    return decodeURIComponent(key.slice(prefix.length));
  } catch {
    return undefined;
  }
}

/** Returns the stored keys of a column that differ from these values only in their notation. */
export async function* storedNotations(
  store: OpenStore,
  prefix: string,
  keys: Notations<number>,
): AsyncGenerator<{ line: number; value: string; stored: string }> {
  if (keys.isEmpty) return;
  for await (const { key } of store.keys(prefix)) {
    const stored = valueOfKey(key, prefix);
    if (stored === undefined) continue;
    for (const { text: value, named: line } of keys.alike(stored)) yield { line, value, stored };
  }
}
