import { byteString, encodeUtf8 } from "./byte-string.js";

/** UTF-8 bytes, one per character, and the position of each in the original text. */
export interface DecodedText {
  bytes: string;
  /** The index in the original text, one per byte and one for the end; left out when it is the same. */
  origins?: Uint32Array;
}

/** How many levels of escapes within escapes are decoded: JSON within JSON within a form. */
const MAX_DECODINGS = 4;

const NON_ASCII_PATTERN = /[\u0080-\uffff]/;

/** Percent escapes, escapes of JSON and of `util.inspect`, HTML entities. Nothing unbounded: that could overflow the stack. */
const ESCAPE_PATTERN =
  /%(?<byte>[\da-f]{2})|\\u(?<high>d[89ab][\da-f]{2})\\u(?<low>d[c-f][\da-f]{2})|\\u(?<unit>[\da-f]{4})|\\x(?<latin>[\da-f]{2})|\\(?<letter>[^ux])|&#x(?<hex>[\da-f]{1,6});|&#(?<decimal>\d{1,7});|&(?<entity>amp|lt|gt|quot|apos);/gi;

const CONTROL_CHARACTERS: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "0": "\0" };
const HTML_ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** The text itself, then with one more level of escapes decoded each time, up to the last level. */
export function* decodeRepeatedly(text: string): Generator<DecodedText> {
  let decoded: DecodedText = NON_ASCII_PATTERN.test(text) ? decodeCharacters(text) : { bytes: text };
  yield decoded;
  for (let level = 0; level < MAX_DECODINGS && decoded.bytes.search(ESCAPE_PATTERN) >= 0; level += 1) {
    decoded = decodeEscapes(decoded);
    yield decoded;
  }
}

function decodeCharacters(text: string): DecodedText {
  const bytes = encodeUtf8(text);
  const origins = new Uint32Array(bytes.length + 1);
  let origin = 0;
  let next = 0;
  bytes.forEach((byte, index) => {
    const startsCharacter = (byte & 0xc0) !== 0x80;
    if (startsCharacter) {
      origin = next;
      // Four bytes encode two UTF-16 units.
      next += byte >= 0xf0 ? 2 : 1;
    }
    origins[index] = origin;
  });
  origins[bytes.length] = text.length;
  return { bytes: byteString(bytes), origins };
}

function decodeEscapes({ bytes, origins: outer }: DecodedText): DecodedText {
  const parts: string[] = [];
  // No escape decodes to more bytes than it has.
  const origins = new Uint32Array(bytes.length + 1);
  let length = 0;
  let end = 0;
  const append = (part: string, from: number, step: 0 | 1) => {
    parts.push(part);
    for (let index = 0; index < part.length; index += 1, length += 1) {
      const inner = from + index * step;
      origins[length] = outer?.[inner] ?? inner;
    }
  };
  for (const { 0: escaped, index, groups = {} } of bytes.matchAll(ESCAPE_PATTERN)) {
    append(bytes.slice(end, index), end, 1);
    append(decodeEscape(escaped, groups), index, 0);
    end = index + escaped.length;
  }
  append(bytes.slice(end), end, 1);
  origins[length] = outer?.[bytes.length] ?? bytes.length;
  return { bytes: parts.join(""), origins: origins.subarray(0, length + 1) };
}

function decodeEscape(escaped: string, groups: Record<string, string | undefined>): string {
  const { byte, high, low, unit, latin, letter, hex, decimal, entity } = groups;
  if (byte) return String.fromCharCode(Number.parseInt(byte, 16));
  if (letter) return CONTROL_CHARACTERS[letter] ?? letter;
  if (entity) return HTML_ENTITIES[entity.toLowerCase()] ?? escaped;
  const units = [high, low, unit, latin, hex].flatMap((code) => (code ? Number.parseInt(code, 16) : []));
  if (decimal) units.push(Number(decimal));
  return units.some((code) => code > 0x10ffff) ? escaped : byteString(encodeUtf8(stringFromCodeUnits(units)));
}

/** Two surrogate units join to one character. */
const stringFromCodeUnits = (units: number[]) => units.map((code) => String.fromCodePoint(code)).join("");
