/** A shorter secret is only redacted if it is a whole word. */
const MIN_UNAMBIGUOUS_LENGTH = 8;

/** The beginning of a long secret is recognised without the rest: it may be cut off. */
const MAX_NEEDED_LENGTH = 256;

/** A string that takes more comparisons than this (about 0.1 s) is replaced as a whole. */
const MAX_COMPARISONS = 20_000_000;

/** A shorter secret is not redacted: with a secret `a`, every `a` of a message would be. */
export const MIN_SECRET_LENGTH = 4;

/** Start index, and end index (exclusive). */
export type TextRange = [start: number, end: number];

/**
 * Secrets by their first four bytes, each with how often it is registered: one lookup per position of a string finds
 * them all, however many clients there are.
 */
export class SecretIndex {
  readonly #countsByKey = new Map<number, Map<string, number>>();

  get isEmpty(): boolean {
    return this.#countsByKey.size === 0;
  }

  register(forms: readonly string[]): void {
    for (const form of forms) {
      const key = keyOf(form);
      const bucket = this.#countsByKey.get(key) ?? new Map<string, number>();
      this.#countsByKey.set(key, bucket.set(form, (bucket.get(form) ?? 0) + 1));
    }
  }

  unregister(forms: readonly string[]): void {
    for (const form of forms) {
      const key = keyOf(form);
      const bucket = this.#countsByKey.get(key);
      const count = bucket?.get(form) ?? 0;
      if (count > 1) bucket?.set(form, count - 1);
      else bucket?.delete(form);
      if (bucket?.size === 0) this.#countsByKey.delete(key);
    }
  }

  /** The ranges of a string that contain secrets. Throws if the search takes too long. */
  find(bytes: string): TextRange[] {
    const found: TextRange[] = [];
    let comparisons = 0;
    let key = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      key = appendByteToKey(key, bytes.charCodeAt(at));
      const bucket = this.#countsByKey.get(key);
      const start = at + 1 - MIN_SECRET_LENGTH;
      if (!bucket || start < 0) continue;
      for (const form of bucket.keys()) {
        const length = commonPrefixLength(bytes, start, form);
        comparisons += length + 1;
        if (comparisons > MAX_COMPARISONS) throw new RangeError("too many comparisons");
        const end = start + length;
        if (length < Math.min(form.length, MAX_NEEDED_LENGTH)) continue;
        if (length < MIN_UNAMBIGUOUS_LENGTH && !isWholeWord(bytes, start, end)) continue;
        const last = found.at(-1);
        if (last && start <= last[1]) last[1] = Math.max(last[1], end);
        else found.push([start, end]);
      }
    }
    return found;
  }
}

const appendByteToKey = (key: number, byte: number) => (key << 8) | byte;

function keyOf(form: string): number {
  let key = 0;
  for (let at = 0; at < MIN_SECRET_LENGTH; at += 1) key = appendByteToKey(key, form.charCodeAt(at));
  return key;
}

function commonPrefixLength(bytes: string, start: number, form: string): number {
  let length = 0;
  while (length < form.length && bytes.charCodeAt(start + length) === form.charCodeAt(length)) length += 1;
  return length;
}

const WORD_CHARACTER_PATTERN = /\w/;
const isWholeWord = (bytes: string, start: number, end: number) =>
  !WORD_CHARACTER_PATTERN.test(bytes.charAt(start - 1)) && !WORD_CHARACTER_PATTERN.test(bytes.charAt(end));
