/*
 * Strings in which secrets are searched: unchanged, and with the escapes of URLs, forms, JSON and HTML decoded. So a
 * secret is found whichever of its characters are escaped.
 */

/**
 * A decoded string. `starts`: where each of its characters begins in the original. Without `starts`, the string is the
 * original.
 */
export interface DecodedText {
  text: string;
  /** Has one entry more than the text has characters. The last entry is the length of the original. */
  starts?: Int32Array | undefined;
}

/** Returns a text as forms send it: a space is a plus, and half of a surrogate pair is U+FFFD. */
export const normalized = (text: string): string => text.toWellFormed().replaceAll(" ", "+");

/** Returns base64url as base64, which has other characters. */
export const normalizedBase64 = (text: string): string => text.replaceAll("-", "+").replaceAll("_", "/");

/**
 * The escapes of URLs and forms, of JSON and JavaScript, and of HTML. A secret may itself contain text that looks like
 * an escape.
 */
const ESCAPES: readonly [start: string, pattern: RegExp][] = [
  ["%", /(?:%[\da-f]{2})+/gi],
  ["\\", /\\u[\da-f]{4}|\\u\{[\da-f]{1,6}\}|\\x[\da-f]{2}|\\[\s\S]/gi],
  ["&", /&#\d{1,9};|&#x[\da-f]{1,8};|&(?:amp|lt|gt|quot|apos);/gi],
];
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const CONTROL: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** Returns the string unchanged, and once more for each kind of escapes that it has, with these escapes decoded. */
export const decodedTextsOf = (text: string): DecodedText[] => [
  { text: normalized(text) },
  ...ESCAPES.flatMap(([start, pattern]) => (text.includes(start) ? decodedTexts(text, pattern) : [])),
];

function decodedTexts(text: string, pattern: RegExp): DecodedText[] {
  const starts = new Int32Array(text.length + 1);
  const parts: string[] = [];
  let length = 0;
  const add = (part: string, startOf: (index: number) => number) => {
    for (let index = 0; index < part.length; index += 1) starts[length + index] = startOf(index);
    length += part.length;
    parts.push(part);
  };
  let end = 0;
  for (const { 0: escaped, index: at } of text.matchAll(pattern)) {
    const from = end;
    add(text.slice(from, at), (index) => from + index);
    end = at + escaped.length;
    if (escaped.startsWith("%")) addBytes(escaped, (char, start) => add(char, () => at + start));
    else add(decodeOne(escaped), () => at);
  }
  if (end === 0) return [];
  add(text.slice(end), (index) => end + index);
  starts[length] = text.length;
  return [{ text: normalized(parts.join("")), starts: starts.subarray(0, length + 1) }];
}

function decodeOne(escaped: string): string {
  const [, entity] = /^&(\w+);$/.exec(escaped) ?? [];
  if (entity !== undefined) return NAMED[entity.toLowerCase()] ?? escaped;
  const [, hex, decimal] = /^(?:\\u\{?|\\x|&#x)([\da-f]+)[};]?$|^&#(\d+);$/i.exec(escaped) ?? [];
  if (hex === undefined && decimal === undefined) return CONTROL[escaped.slice(1)] ?? escaped.slice(1);
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}

const LEADS = [
  { mask: 0x80, bits: 0x00, more: 0 },
  { mask: 0xe0, bits: 0xc0, more: 1 },
  { mask: 0xf0, bits: 0xe0, more: 2 },
  { mask: 0xf8, bits: 0xf0, more: 3 },
] as const;

/** Percent escapes are bytes of UTF-8, or of Latin-1 if they are not UTF-8. */
function addBytes(escapes: string, add: (char: string, start: number) => void): void {
  const byteAt = (index: number) => Number.parseInt(escapes.slice(3 * index + 1, 3 * index + 3), 16);
  for (let index = 0; 3 * index < escapes.length; ) {
    const first = byteAt(index);
    const { mask, more } = LEADS.find(({ mask, bits }) => (first & mask) === bits) ?? { mask: 0, more: 0 };
    let code = first & ~mask & 0xff;
    let count = 1;
    while (count <= more) {
      const next = byteAt(index + count);
      if (Number.isNaN(next) || (next & 0xc0) !== 0x80) break;
      code = (code << 6) | (next & 0x3f);
      count += 1;
    }
    const isValid = count === more + 1 && code <= 0x10ffff;
    add(String.fromCodePoint(isValid ? code : first), 3 * index);
    index += isValid ? count : 1;
  }
}

/** Returns the text without line breaks. Base64 in a mail or a file has line breaks. */
export function withoutLineBreaks({ text, starts }: DecodedText): DecodedText {
  if (!/[\r\n]/.test(text)) return { text, starts };
  const kept = new Int32Array(text.length + 1);
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (char !== "\r" && char !== "\n") kept[length++] = starts?.[index] ?? index;
  }
  kept[length] = starts?.[text.length] ?? text.length;
  return { text: text.replace(/[\r\n]/g, ""), starts: kept.subarray(0, length + 1) };
}
