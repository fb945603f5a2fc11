import { inspect } from "node:util";
import { fieldOf, isObject } from "./field-of.js";
import { messageOf } from "./message-of.js";

const HIDDEN = "[redacted]";

/** A shorter secret is only hidden where it stands alone, or every `a` of a message would go with a secret `a`. */
const SHORTEST_UNMISTAKABLE = 8;
const SHORTEST_HIDDEN = 4;

/** Tokens are replaced every hour or so; an old one can still turn up in an answer that was on its way. */
const TOKENS_REMEMBERED = 8;

/**
 * The secrets of one client. Every error of the package hides what any living client has put in here, so that no
 * place that makes an error can forget to.
 */
export class Secrets {
  readonly #lasting: RegExp[];
  #tokens: RegExp[] = [];

  constructor(lasting: readonly string[]) {
    this.#lasting = lasting.flatMap(patternsOf);
    const ref = new WeakRef(this);
    living.add(ref);
    collected.register(this, ref);
  }

  addToken(token: string): void {
    this.#tokens = [...this.#tokens, ...patternsOf(token)].slice(-TOKENS_REMEMBERED);
  }

  hide(text: string): string {
    return [...this.#lasting, ...this.#tokens].reduce((shown, pattern) => shown.replace(pattern, HIDDEN), text);
  }
}

const living = new Set<WeakRef<Secrets>>();
const collected = new FinalizationRegistry<WeakRef<Secrets>>((ref) => living.delete(ref));

/** Secrets that no client has told us of, by the company they keep. */
const CREDENTIAL_FIELD = /((?:access_token|refresh_token|client_secret)[\\"']*\s*[:=]\s*[\\"']*)[^\\"'&\s,}]+/gi;
const BEARER = /(bearer\s+)[\w\-.~+/]{16,}=*/gi;

/** Text without any secret in it. */
export function redact(text: string): string {
  let shown = text;
  for (const secrets of living) shown = secrets.deref()?.hide(shown) ?? shown;
  return shown.replace(CREDENTIAL_FIELD, `$1${HIDDEN}`).replace(BEARER, `$1${HIDDEN}`);
}

/** A copy of plain data in which no text shows a secret. */
export function redactData<T>(data: T): T;
export function redactData(data: unknown): unknown {
  if (typeof data === "string") return redact(data);
  if (Array.isArray(data)) return data.map((entry) => redactData(entry));
  if (!isObject(data) || Object.getPrototypeOf(data) !== Object.prototype) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [redact(key), redactData(value)]));
}

/**
 * The cause as it is, or, where it shows a secret (a parser's error holds the raw answer, a caller's fetch may hold the
 * request), an error with its name, message and code only.
 */
export function redactCause(cause: unknown): unknown {
  if (isHarmless(cause)) return cause;
  if (!(cause instanceof Error)) return typeof cause === "string" ? redact(cause) : new Error(HIDDEN);
  const copy = new Error(redact(messageOf(cause)));
  copy.name = redact(String(cause.name));
  copy.stack = redact(String(cause.stack));
  const code = fieldOf(cause, "code");
  return typeof code === "string" ? Object.assign(copy, { code: redact(code) }) : copy;
}

/** A parser's error holds the rest of the raw answer, in which a secret may have been cut in two: never harmless. */
function isHarmless(cause: unknown): boolean {
  if (cause instanceof Error && "data" in cause) return false;
  try {
    const shown = inspect(cause, { depth: 16, showHidden: true, maxStringLength: null, maxArrayLength: 1_000 });
    return redact(shown) === shown;
  } catch {
    return false;
  }
}

function patternsOf(secret: string): RegExp[] {
  if (secret.length < SHORTEST_HIDDEN) return [];
  const quoted = escaped(secret);
  const spellings = new Set([
    secret,
    encodeForm(secret),
    encodeUri(secret),
    quoted,
    escaped(quoted),
    inspect(secret).slice(1, -1),
  ]);
  return [...spellings].map((spelling) => {
    const literal = spelling.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
    return new RegExp(spelling.length < SHORTEST_UNMISTAKABLE ? `(?<!\\w)${literal}(?!\\w)` : literal, "g");
  });
}

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
const encodeForm = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
/** As `encodeURIComponent`, which throws where a text is not well-formed. */
const encodeUri = (text: string) =>
  encodeForm(text)
    .replaceAll("+", "%20")
    .replace(/%(2[1789]|7E)/g, (code) => decodeURIComponent(code));
