/*
 * Finds known secrets in a string, plain and encoded. The time does not depend on the number of secrets: a table shows
 * whether any secret may begin with the next four characters.
 */
import { type DecodedText, decodedTextsOf, normalized, normalizedBase64, withoutLineBreaks } from "./encodings.js";

/** The length from which a secret is searched. Shorter secrets may be ordinary words. */
const MIN_LENGTH = 4;
/** A secret that is shorter than this is only found as a whole word that is not encoded. */
const MIN_UNAMBIGUOUS_LENGTH = 8;
/**
 * Only this many characters of a long secret are searched. The text after them, up to the next space or quote, is
 * hidden, too.
 */
const MAX_MATCHED_LENGTH = 256;

/** One form in which a secret may be written. */
interface Form {
  text: string;
  kind: "word" | "text" | "base64";
  /** Whether this is only the beginning of a long secret. */
  isLong: boolean;
  /** How many characters of base64 before and after the form contain some bits of the secret. */
  before: number;
  after: number;
}

type Range = readonly [start: number, end: number];

/** Secrets that must not be shown. A secret stays in the index until `delete` was called as often as `add`. */
export class SecretIndex {
  readonly #secrets = new Map<string, { uses: number; forms: Form[] }>();
  readonly #texts = new FormTable();
  readonly #base64 = new FormTable();

  get isEmpty(): boolean {
    return this.#secrets.size === 0;
  }

  add(secret: string): void {
    const known = this.#secrets.get(secret);
    if (known) known.uses += 1;
    else {
      const forms = writtenFormsOf(secret);
      this.#secrets.set(secret, { uses: 1, forms });
      for (const form of forms) this.#tableOf(form).add(form);
    }
  }

  delete(secret: string): void {
    const known = this.#secrets.get(secret);
    if (!known) return;
    known.uses -= 1;
    if (known.uses > 0) return;
    this.#secrets.delete(secret);
    for (const form of known.forms) this.#tableOf(form).delete(form);
  }

  /** Adds to `found` the ranges in which a string shows a secret. */
  find(text: string, views: readonly SearchedView[], found: Range[]): void {
    if (this.#secrets.size === 0) return;
    for (const { asText, asBase64 } of views) {
      this.#texts.find(asText, text, found);
      this.#base64.find(asBase64, text, found);
    }
  }

  #tableOf({ kind }: Form): FormTable {
    return kind === "base64" ? this.#base64 : this.#texts;
  }
}

/** A string in which secrets are searched as they are, and in base64. */
interface SearchedView {
  asText: DecodedText;
  asBase64: DecodedText;
}

/** Matches texts that decoding does not change. */
const PLAIN_PATTERN = /^[A-Za-z0-9/:.?=,;()[\]{}"'|]*$/;

function searchedViewsOf(text: string): SearchedView[] {
  // Most strings, such as paths, are searched once.
  if (PLAIN_PATTERN.test(text)) return [{ asText: { text }, asBase64: { text } }];
  return decodedTextsOf(text).map((asText) => {
    const unbroken = withoutLineBreaks(asText);
    return { asText, asBase64: { ...unbroken, text: normalizedBase64(unbroken.text) } };
  });
}

/** A string with something else in place of the secrets of some indexes. */
export function replaceSecrets(text: string, indexes: readonly SecretIndex[], replacement: string): string {
  if (text.length < MIN_LENGTH || indexes.every(({ isEmpty }) => isEmpty)) return text;
  const views = searchedViewsOf(text);
  const found: Range[] = [];
  for (const index of indexes) index.find(text, views, found);
  return found.length === 0 ? text : replaceRanges(text, found, replacement);
}

function replaceRanges(text: string, ranges: readonly Range[], replacement: string): string {
  let shown = "";
  let end = 0;
  for (const [from, to] of [...ranges].sort(([one], [next]) => one - next)) {
    if (to <= end) continue;
    // Ranges that overlap, or follow each other directly, are replaced together.
    if (from > end || end === 0) shown += text.slice(end, from) + replacement;
    end = to;
  }
  return shown + text.slice(end);
}

/** A secret as it is; if it is long enough, its bytes in hexadecimal and in base64. */
function writtenFormsOf(secret: string): Form[] {
  const isLong = secret.length > MAX_MATCHED_LENGTH;
  const start = isLong ? [...secret].slice(0, MAX_MATCHED_LENGTH).join("") : secret;
  const exact = { isLong, before: 0, after: 0 };
  if (secret.length < MIN_LENGTH) return [];
  if (secret.length < MIN_UNAMBIGUOUS_LENGTH) return [{ ...exact, kind: "word", text: normalized(start) }];
  const bytes = [...new TextEncoder().encode(start)];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const texts = new Set([normalized(start), hex, hex.toUpperCase()]);
  return [
    ...[...texts].map((text): Form => ({ ...exact, kind: "text", text })),
    ...[0, 1, 2].map((offset): Form => ({ isLong, kind: "base64", ...base64At(bytes, offset) })),
  ];
}

/** Returns the characters of base64 that depend only on these bytes, if `offset` other bytes precede them. */
function base64At(bytes: readonly number[], offset: number): Pick<Form, "text" | "before" | "after"> {
  const base64 = btoa(String.fromCharCode(...new Array<number>(offset).fill(0), ...bytes));
  const isWhole = (offset + bytes.length) % 3 === 0;
  const end = Math.floor(((offset + bytes.length) * 8) / 6);
  return { text: base64.slice(Math.ceil((offset * 8) / 6), end), before: offset === 0 ? 0 : 1, after: isWhole ? 0 : 1 };
}

const TABLE_SIZE = 2 ** 14;
const hashOf = (a: number, b: number, c: number, d: number) => (a ^ (b << 3) ^ (c << 6) ^ (d << 9)) & (TABLE_SIZE - 1);

/** Forms by their first characters. */
class FormTable {
  readonly #forms = new Map<string, Form[]>();
  /** How many forms have the hash of their first characters. */
  #counts: Uint32Array | undefined;

  add(form: Form): void {
    const start = form.text.slice(0, MIN_LENGTH);
    const others = this.#forms.get(start);
    if (others) others.push(form);
    else this.#forms.set(start, [form]);
    this.#count(start, 1);
  }

  delete(form: Form): void {
    const start = form.text.slice(0, MIN_LENGTH);
    const others = (this.#forms.get(start) ?? []).filter((one) => one !== form);
    if (others.length > 0) this.#forms.set(start, others);
    else this.#forms.delete(start);
    this.#count(start, -1);
  }

  find({ text, starts }: DecodedText, original: string, found: Range[]): void {
    const counts = this.#counts;
    const originAt = (position: number) => starts?.[position] ?? position;
    if (!counts) return;
    let [a, b, c] = [text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2)];
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1) {
      const d = text.charCodeAt(at + MIN_LENGTH - 1);
      if (counts[hashOf(a, b, c, d)] !== 0) {
        for (const form of this.#forms.get(text.slice(at, at + MIN_LENGTH)) ?? []) {
          const range = rangeOfSecret(form, text, at);
          if (!range) continue;
          const [start, end] = range;
          const from = originAt(end);
          const to = form.isLong ? endOfRest(original, from) : from;
          found.push([originAt(start), to]);
          // Further matches within a long one would each be searched for its end.
          while (originAt(at + 1) < to && form.isLong) at += 1;
        }
        [a, b, c] = [text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3)];
      } else {
        a = b;
        b = c;
        c = d;
      }
    }
  }

  #count(start: string, change: number): void {
    this.#counts ??= new Uint32Array(TABLE_SIZE);
    const index = hashOf(start.charCodeAt(0), start.charCodeAt(1), start.charCodeAt(2), start.charCodeAt(3));
    this.#counts[index] = (this.#counts[index] ?? 0) + change;
  }
}

/** Where a form stands in a string, if it begins at a position. */
function rangeOfSecret({ text: form, kind, before, after }: Form, text: string, at: number): Range | undefined {
  if (!text.startsWith(form, at)) return undefined;
  const end = at + form.length;
  if (kind === "word" && (isWordCharacter(text[at - 1]) || isWordCharacter(text[end]))) return undefined;
  const start = before > 0 && isBase64Character(text[at - 1]) ? at - 1 : at;
  return [start, after > 0 && isBase64Character(text[end]) ? end + 1 : end];
}

/** Where the rest of a long secret ends that goes on at a position. */
function endOfRest(text: string, at: number): number {
  const length = text.slice(at).search(/[\s"'<>]/);
  return length < 0 ? text.length : at + length;
}

const isWordCharacter = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}]/u.test(char);
const isBase64Character = (char: string | undefined) => char !== undefined && /[\w+/]/.test(char);
