import type { OpenStore } from "../../outbox/store.js";
import { formsOf, isOtherNotation, type Reading, ROUNDED_DIGITS, readNotation, roundedForms } from "./notation.js";

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

/** How all keys of a column begin. */
export const valuePrefix = (delivery: string | undefined, column: string): string =>
  `${delivery === undefined ? "" : `${encoded(delivery)}/`}${encoded(column)}=`;

/** How all keys of a delivery begin, whether it was imported by lines or by a column. */
export const deliveryPrefixes = (delivery: string): [string, string] => [
  `${encoded(delivery)}:`,
  `${encoded(delivery)}/`,
];

/** The keys that a person may mean who types names and values as they are. */
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

interface KeyLine {
  value: string;
  line: number;
}

type IndexedLine = KeyLine & { reading: Reading };

/** Further keys that are the same are not looked for. */
const MAX_ALIKE = 50;

/** Keys of lines, to find the ones that a spreadsheet has rewritten. */
export class KeyNotations {
  readonly #all: IndexedLine[] = [];
  readonly #byForm = new Map<string, IndexedLine[]>();
  /** Those that were most likely rounded. */
  readonly #rounded = new Map<string, IndexedLine[]>();
  /** By number of digits: all keys, as they would be rounded. Made when a rounded key is looked for. */
  readonly #byRoundedForm = new Map<number, Map<string, IndexedLine[]>>();

  /** `isCutFile`: the file has lost the last digits of its long numbers. */
  constructor(readonly isCutFile = false) {}

  add(value: string, line: number): void {
    const reading = readNotation(value, this.isCutFile);
    const indexed = { value, line, reading };
    const forms = formsOf(reading);
    if (forms.length === 0) return;
    this.#all.push(indexed);
    index(this.#byForm, forms, indexed);
    if (reading.roundedTo !== undefined) index(this.#rounded, forms, indexed);
  }

  /** Whether no key can be another one in another notation. */
  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** The first lines whose keys are not this one, but the same in another notation. */
  alike(value: string): KeyLine[] {
    const reading = readNotation(value);
    const found = new Map<number, KeyLine>();
    for (const one of this.#candidates(reading)) {
      if (one.value !== value && isOtherNotation(one.reading, reading)) found.set(one.line, one);
      if (found.size >= MAX_ALIKE) break;
    }
    return [...found.values()].map(({ value: other, line }) => ({ value: other, line }));
  }

  *#candidates(reading: Reading): Generator<IndexedLine> {
    for (const form of formsOf(reading)) yield* this.#byForm.get(form) ?? [];
    if (this.#rounded.size > 0)
      for (const digits of ROUNDED_DIGITS)
        for (const form of roundedForms(reading, digits)) yield* this.#rounded.get(form) ?? [];
    const { roundedTo: digits } = reading;
    if (digits !== undefined)
      for (const number of reading.numbers)
        yield* this.#asRounded(Math.min(digits, ROUNDED_DIGITS.length)).get(number.toExponential()) ?? [];
  }

  #asRounded(digits: number): Map<string, IndexedLine[]> {
    const made = this.#byRoundedForm.get(digits) ?? new Map<string, IndexedLine[]>();
    if (made.size === 0) for (const one of this.#all) index(made, roundedForms(one.reading, digits), one);
    this.#byRoundedForm.set(digits, made);
    return made;
  }
}

function index(by: Map<string, IndexedLine[]>, forms: readonly string[], one: IndexedLine): void {
  for (const form of new Set(forms)) {
    const same = by.get(form);
    if (same) same.push(one);
    else by.set(form, [one]);
  }
}

/** The value of a key of a column; `undefined` if it is none. */
export function valueOfKey(key: string, prefix: string): string | undefined {
  if (!key.startsWith(prefix)) return undefined;
  try {
    return decodeURIComponent(key.slice(prefix.length));
  } catch {
    return undefined;
  }
}

/** The stored keys of a column that are others than these, but for their notation. */
export async function storedNotations(
  store: OpenStore,
  prefix: string,
  keys: KeyNotations,
): Promise<{ line: number; value: string; stored: string }[]> {
  const found: { line: number; value: string; stored: string }[] = [];
  if (keys.isEmpty) return found;
  for await (const { key } of store.keys(prefix)) {
    const stored = valueOfKey(key, prefix);
    if (stored === undefined) continue;
    for (const { value, line } of keys.alike(stored)) found.push({ line, value, stored });
  }
  return found;
}
