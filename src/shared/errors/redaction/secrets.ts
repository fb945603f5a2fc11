/**
 * The secrets of all clients of the process, and how strings are searched for them.
 *
 * A secret is remembered when it is used: client secret and headers with each token request, a token when it is received. The last
 * {@link MAX_REMEMBERED_SECRETS} are remembered, so those of closed and abandoned clients are forgotten in time.
 *
 * A string is searched as it is, and with the escapes of each of the {@link ENCODINGS} decoded. Base64 is searched as a
 * form of the secret. Escapes within escapes are not decoded.
 */

const MAX_REMEMBERED_SECRETS = 10_000;

/** A shorter secret is not redacted: with a secret `a`, every `a` of a message would be. */
const MIN_SECRET_LENGTH = 4;

/** A shorter secret is only redacted if it is a whole word. */
const MIN_UNAMBIGUOUS_LENGTH = 8;

/** The beginning of a long secret is recognised without the rest: it may be cut off. */
const MAX_NEEDED_LENGTH = 256;

/** How much of what was found is searched for the beginning of another secret. More would take quadratic time. */
const MAX_OVERLAP_LENGTH = 64;

/** A string by which a secret is recognised. */
interface SecretForm {
  readonly text: string;
  /** The value of a client header, which may be an ordinary word. */
  readonly isHeader: boolean;
}

/** The forms of each secret, ordered by when the secret was last used. */
const formsBySecret = new Map<string, readonly SecretForm[]>();

/** All forms by their first four characters: one lookup per position of a string finds them, however many there are. */
const formsByStart = new Map<number, Set<SecretForm>>();

export function rememberSecret(secret: string, isHeader = false): void {
  const key = `${isHeader} ${secret}`;
  const forms = formsBySecret.get(key) ?? formsOf(secret).map((text) => addForm({ text, isHeader }));
  formsBySecret.delete(key);
  formsBySecret.set(key, forms);
  const [oldest] = formsBySecret;
  if (!oldest || formsBySecret.size <= MAX_REMEMBERED_SECRETS) return;
  formsBySecret.delete(oldest[0]);
  oldest[1].forEach(removeForm);
}

/** A client secret, and the credentials as HTTP Basic authentication encodes them. */
export function rememberCredentials({ clientId, clientSecret }: { clientId: string; clientSecret: string }): void {
  rememberSecret(clientSecret);
  rememberSecret(`${clientId}:${clientSecret}`);
  rememberSecret(`${encodeFormValue(clientId)}:${encodeFormValue(clientSecret)}`);
}

/** The values of headers, and the credentials of those that begin with a scheme: `ApiKey 0123…`. */
export function rememberHeaders(headers: Readonly<Record<string, string>>): void {
  for (const value of Object.values(headers).map((raw) => raw.trim())) {
    rememberSecret(value, true);
    rememberSecret(value.slice(value.indexOf(" ") + 1).trim(), true);
  }
}

const encodeFormValue = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);

/** The secret itself (half of a surrogate pair is sent as U+FFFD), and its base64 with or without the padding. */
function formsOf(secret: string): string[] {
  const bytes = Array.from(new TextEncoder().encode(secret), (byte) => String.fromCharCode(byte));
  const base64 = btoa(bytes.join("")).replaceAll("=", "");
  const base64url = base64.replaceAll("+", "-").replaceAll("/", "_");
  const forms = [secret, secret.replace(/\p{Surrogate}/gu, "\ufffd"), base64, base64url].map(plusToSpace);
  return [...new Set(forms)].filter((form) => form.length >= MIN_SECRET_LENGTH);
}

/** In a form, a plus sign encodes a space. */
const plusToSpace = (text: string) => text.replaceAll("+", " ");

function addForm(form: SecretForm): SecretForm {
  const key = keyOf(form.text);
  formsByStart.set(key, (formsByStart.get(key) ?? new Set()).add(form));
  return form;
}

function removeForm(form: SecretForm): void {
  const key = keyOf(form.text);
  const forms = formsByStart.get(key);
  forms?.delete(form);
  if (forms?.size === 0) formsByStart.delete(key);
}

/** The key of four characters: after each step, only the last four count. */
const appendToKey = (key: number, code: number) => (key << 8) ^ code;

const keyOf = (text: string) => [0, 1, 2, 3].reduce((key, at) => appendToKey(key, text.charCodeAt(at)), 0);

/** The ranges of a string that contain secrets, also encoded ones; with or without the values of client headers. */
export function findSecrets(text: string, withHeaders: boolean): [start: number, end: number][] {
  const found = findForms(text, withHeaders);
  for (const [pattern, decode] of ENCODINGS) {
    if (text.search(pattern) < 0) continue;
    const { decoded, origins } = decodeEscapes(text, pattern, decode);
    for (const [start, end] of findForms(decoded, withHeaders))
      found.push([origins[start] ?? start, origins[end] ?? end]);
  }
  return found;
}

function findForms(text: string, withHeaders: boolean): [start: number, end: number][] {
  const searched = plusToSpace(text);
  const found: [start: number, end: number][] = [];
  let key = 0;
  for (let at = 0; at < searched.length; at += 1) {
    key = appendToKey(key, searched.charCodeAt(at));
    const start = at + 1 - MIN_SECRET_LENGTH;
    for (const form of (start >= 0 && formsByStart.get(key)) || []) {
      const end = withHeaders || !form.isHeader ? endOfForm(searched, start, form.text) : undefined;
      if (end === undefined) continue;
      found.push([start, end]);
      at = Math.max(at, end - MAX_OVERLAP_LENGTH);
    }
  }
  return found;
}

/** Where a form that begins at `start` ends; `undefined` if the text has another one there. */
function endOfForm(text: string, start: number, form: string): number | undefined {
  let length = 0;
  while (length < form.length && text.charCodeAt(start + length) === form.charCodeAt(length)) length += 1;
  const end = start + length;
  if (length < Math.min(form.length, MAX_NEEDED_LENGTH)) return undefined;
  const isWholeWord = !/\w/.test(text.charAt(start - 1)) && !/\w/.test(text.charAt(end));
  return length >= MIN_UNAMBIGUOUS_LENGTH || isWholeWord ? end : undefined;
}

/** One escape, which encodes one character, and how it is decoded. Nothing unbounded: that could overflow the stack. */
const ENCODINGS: readonly (readonly [pattern: RegExp, decode: (escaped: string) => string])[] = [
  // The bytes of one character in valid UTF-8.
  [
    /%[0-7][\da-f]|%(?:c[2-9a-f]|d[\da-f]|e0%[ab][\da-f]|ed%[89][\da-f]|(?:e[1-9a-cef]|f0%[9ab][\da-f]|f4%8[\da-f]|f[1-3]%[89ab][\da-f])%[89ab][\da-f])%[89ab][\da-f]/gi,
    decodeURIComponent,
  ],
  // JSON and `util.inspect`.
  [
    /\\(?:u[\da-f]{4}|x[\da-f]{2}|[^ux])/gi,
    ([, letter = "", ...digits]) =>
      digits.length > 0 ? fromCode(`0x${digits.join("")}`) : ("\b\f\n\r\t"["bfnrt".indexOf(letter)] ?? letter),
  ],
  [
    /&(?:#x[\da-f]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos);/gi,
    (entity) => HTML_ENTITIES[entity.toLowerCase()] ?? fromCode(entity.slice(2, -1).replace(/^x/i, "0x")),
  ],
];

const HTML_ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'" };

const fromCode = (code: string) => String.fromCodePoint(Math.min(Number(code), 0x10ffff));

/** The text without escapes, and where each of its characters begins in the text with them. */
function decodeEscapes(text: string, pattern: RegExp, decode: (escaped: string) => string) {
  // No escape decodes to more characters than it has.
  const origins = new Uint32Array(text.length + 1);
  let length = 0;
  let copied = 0;
  const copyUntil = (end: number) => {
    while (copied < end) origins[length++] = copied++;
  };
  const decoded = text.replace(pattern, (escaped: string, index: number) => {
    const plain = decode(escaped);
    copyUntil(index);
    for (let at = 0; at < plain.length; at += 1) origins[length++] = index;
    copied = index + escaped.length;
    return plain;
  });
  copyUntil(text.length + 1);
  return { decoded, origins };
}
