import { byteString, encodeUtf8 } from "./byte-string.js";
import { decodeRepeatedly } from "./decode-escapes.js";

/** A shorter secret is not redacted: with a secret `a`, every `a` of a message would be. */
const MIN_SECRET_LENGTH = 4;
/** A shorter secret is only redacted if it is a whole word. */
const MIN_UNAMBIGUOUS_LENGTH = 8;

/** Tokens are replaced about every hour; an old one can still appear in a late response. */
const MAX_REMEMBERED_TOKENS = 8;

/** Of each client secret, three texts are registered. Secrets may be rotated at each token request. */
const CREDENTIALS_REMEMBERED = 3 * MAX_REMEMBERED_TOKENS;

/** The secrets of a closed client can still appear in late responses and callbacks. */
const MAX_REMEMBERED_CLOSED_CLIENTS = 100;

/** A text that takes more comparisons than this (about 0.1 s) counts as full of secrets. */
const MAX_COMPARISONS = 20_000_000;

/** The forms of each secret that one client has registered. */
interface RegisteredSecrets {
  readonly lasting: Map<string, readonly string[]>;
  /** Ordered by when they were last added, as are tokens. */
  readonly credentials: Map<string, readonly string[]>;
  readonly tokens: Map<string, readonly string[]>;
}

/**
 * The secrets of one client. Every error of the package redacts the secrets of all clients, so that no code that creates an
 * error can forget to.
 */
export class ClientSecrets {
  readonly #registered: RegisteredSecrets = { lasting: new Map(), credentials: new Map(), tokens: new Map() };

  constructor(secrets: readonly string[] = []) {
    for (const secret of secrets) this.add(secret);
    clientFinalizationRegistry?.register(this, this.#registered);
  }

  add(secret: string): void {
    const { lasting } = this.#registered;
    if (!lasting.has(secret)) lasting.set(secret, registerForms(searchableFormsOf(secret)));
  }

  /** A client secret, and the credentials as HTTP Basic authentication encodes them. */
  addCredentials({ clientId, clientSecret }: { clientId: string; clientSecret: string }): void {
    const { credentials } = this.#registered;
    addRecent(credentials, clientSecret, CREDENTIALS_REMEMBERED);
    addRecent(credentials, `${clientId}:${clientSecret}`, CREDENTIALS_REMEMBERED);
    addRecent(credentials, `${encodeFormValue(clientId)}:${encodeFormValue(clientSecret)}`, CREDENTIALS_REMEMBERED);
  }

  /** The values of headers, and the credentials of those that begin with a scheme: `ApiKey 0123…`. */
  addHeaders(headers: Readonly<Record<string, string>>): void {
    for (const value of Object.values(headers).map((raw) => raw.trim())) {
      this.add(value);
      this.add(value.slice(value.indexOf(" ") + 1).trim());
    }
  }

  addToken(token: string): void {
    addRecent(this.#registered.tokens, token, MAX_REMEMBERED_TOKENS);
  }

  /** The client was closed. Its secrets are forgotten after enough other clients were closed. */
  retire(): void {
    retireSecrets(this.#registered);
  }
}

/** Registers a secret, and forgets the one that was added first if there are more than `limit`. */
function addRecent(recent: Map<string, readonly string[]>, secret: string, limit: number): void {
  const forms = recent.get(secret) ?? registerForms(searchableFormsOf(secret));
  recent.delete(secret);
  recent.set(secret, forms);
  const [oldest] = recent;
  if (!oldest || recent.size <= limit) return;
  recent.delete(oldest[0]);
  unregisterForms(oldest[1]);
}

/** Workers lack it before the compatibility date 2025-05-05. There, secrets of clients that are never closed are kept. */
const clientFinalizationRegistry =
  typeof FinalizationRegistry === "undefined" ? undefined : new FinalizationRegistry<RegisteredSecrets>(retireSecrets);

/** The secrets of closed clients, ordered by when they were closed. */
const retiredSecrets = new Set<RegisteredSecrets>();
const forgottenSecrets = new WeakSet<RegisteredSecrets>();

function retireSecrets(registered: RegisteredSecrets): void {
  // A client is collected after it was closed: it must not take a second place, or others would be forgotten too early.
  if (forgottenSecrets.has(registered)) return;
  retiredSecrets.add(registered);
  const [oldest] = retiredSecrets;
  if (!oldest || retiredSecrets.size <= MAX_REMEMBERED_CLOSED_CLIENTS) return;
  retiredSecrets.delete(oldest);
  forgottenSecrets.add(oldest);
  for (const secrets of [oldest.lasting, oldest.credentials, oldest.tokens]) {
    for (const forms of secrets.values()) unregisterForms(forms);
    secrets.clear();
  }
}

/**
 * The forms of all secrets by their first four bytes, each with how often it is registered: one lookup per position of a text
 * finds them all, however many clients there are.
 */
const registeredFormsByKey = new Map<number, Map<string, number>>();

function registerForms(forms: readonly string[]): readonly string[] {
  for (const form of forms) {
    const key = formKeyOf(form);
    const bucket = registeredFormsByKey.get(key) ?? new Map<string, number>();
    registeredFormsByKey.set(key, bucket.set(form, (bucket.get(form) ?? 0) + 1));
  }
  return forms;
}

function unregisterForms(forms: readonly string[]): void {
  for (const form of forms) {
    const key = formKeyOf(form);
    const bucket = registeredFormsByKey.get(key);
    const count = bucket?.get(form) ?? 0;
    if (count > 1) bucket?.set(form, count - 1);
    else bucket?.delete(form);
    if (bucket?.size === 0) registeredFormsByKey.delete(key);
  }
}

/** What a text may show of a secret once its escapes are decoded: the secret itself, or its base64. */
function searchableFormsOf(secret: string): readonly string[] {
  // With or without the padding.
  const base64 = btoa(byteString(encodeUtf8(secret))).replaceAll("=", "");
  const base64url = base64.replaceAll("+", "-").replaceAll("/", "_");
  // Decoding may change the secret, too: one that contains "%41" or a backslash.
  const decoded = [...decodeRepeatedly(secret)].map((level) => level.bytes);
  const forms = [...decoded, base64, base64url].map(plusToSpace);
  return [...new Set(forms)].filter((form) => form.length >= MIN_SECRET_LENGTH);
}

const encodeFormValue = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);

/** In a form, a plus sign encodes a space. */
const plusToSpace = (bytes: string) => bytes.replaceAll("+", " ");

const appendByteToKey = (key: number, byte: number) => (key << 8) | byte;

function formKeyOf(form: string): number {
  let key = 0;
  for (let at = 0; at < MIN_SECRET_LENGTH; at += 1) key = appendByteToKey(key, form.charCodeAt(at));
  return key;
}

/** Start index, and end index (exclusive). */
export type TextRange = [start: number, end: number];

/** The ranges of a text that show secrets, however they are escaped. Throws if the search takes too long. */
export function findSecrets(text: string): TextRange[] {
  if (registeredFormsByKey.size === 0) return [];
  const found: TextRange[] = [];
  for (const { bytes, origins } of decodeRepeatedly(text)) {
    for (const [start, end] of findRegisteredForms(plusToSpace(bytes))) {
      found.push(origins ? [origins[start] ?? start, origins[end] ?? end] : [start, end]);
    }
  }
  return found;
}

function findRegisteredForms(bytes: string): TextRange[] {
  const found: TextRange[] = [];
  let comparisons = 0;
  let key = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    key = appendByteToKey(key, bytes.charCodeAt(at));
    const bucket = registeredFormsByKey.get(key);
    const start = at + 1 - MIN_SECRET_LENGTH;
    if (!bucket || start < 0) continue;
    for (const form of bucket.keys()) {
      const length = commonPrefixLength(bytes, start, form);
      comparisons += length + 1;
      if (comparisons > MAX_COMPARISONS) throw new RangeError("too many comparisons");
      const end = start + length;
      if (length < form.length || (length < MIN_UNAMBIGUOUS_LENGTH && !isWholeWord(bytes, start, end))) continue;
      const last = found.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else found.push([start, end]);
    }
  }
  return found;
}

function commonPrefixLength(bytes: string, start: number, form: string): number {
  let length = 0;
  while (length < form.length && bytes.charCodeAt(start + length) === form.charCodeAt(length)) length += 1;
  return length;
}

const WORD_CHARACTER_PATTERN = /\w/;
const isWholeWord = (bytes: string, start: number, end: number) =>
  !WORD_CHARACTER_PATTERN.test(bytes.charAt(start - 1)) && !WORD_CHARACTER_PATTERN.test(bytes.charAt(end));
