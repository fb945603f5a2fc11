import { inspect } from "node:util";
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
  static readonly #living = new Set<WeakRef<Secrets>>();
  static readonly #collected = new FinalizationRegistry<WeakRef<Secrets>>((ref) => Secrets.#living.delete(ref));

  readonly #lasting: RegExp[];
  readonly #tokens: RegExp[] = [];

  constructor(lasting: readonly string[]) {
    this.#lasting = lasting.flatMap(patternsOf);
    const ref = new WeakRef(this);
    Secrets.#living.add(ref);
    Secrets.#collected.register(this, ref);
  }

  addToken(token: string): void {
    this.#tokens.push(...patternsOf(token));
    if (this.#tokens.length > TOKENS_REMEMBERED) this.#tokens.splice(0, this.#tokens.length - TOKENS_REMEMBERED);
  }

  static hide(text: string): string {
    let hidden = text;
    for (const ref of Secrets.#living) {
      const secrets = ref.deref();
      if (!secrets) continue;
      for (const pattern of secrets.#lasting) hidden = hidden.replace(pattern, HIDDEN);
      for (const pattern of secrets.#tokens) hidden = hidden.replace(pattern, HIDDEN);
    }
    return hidden;
  }
}

/** Secrets that no client has told us of, by the company they keep. */
const CREDENTIAL_FIELD = /((?:access_token|refresh_token|client_secret)[\\"']*\s*[:=]\s*[\\"']*)[^\\"'&\s,}]+/gi;
const BEARER = /(bearer\s+)[\w\-.~+/]{16,}=*/gi;

/** Text without any secret in it. */
export function redact(text: string): string {
  return Secrets.hide(text).replace(CREDENTIAL_FIELD, `$1${HIDDEN}`).replace(BEARER, `$1${HIDDEN}`);
}

/** A copy of plain data in which no text shows a secret. */
export function redactData<T>(data: T): T;
export function redactData(data: unknown): unknown {
  if (typeof data === "string") return redact(data);
  if (Array.isArray(data)) return data.map((entry) => redactData(entry));
  if (data === null || typeof data !== "object" || Object.getPrototypeOf(data) !== Object.prototype) return data;
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
  if ("code" in cause && typeof cause.code === "string") Object.assign(copy, { code: redact(cause.code) });
  return copy;
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
  const spellings = new Set([secret, encodeForm(secret), JSON.stringify(secret).slice(1, -1)]);
  return [...spellings].map((spelling) => {
    const literal = spelling.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
    return new RegExp(spelling.length < SHORTEST_UNMISTAKABLE ? `(?<!\\w)${literal}(?!\\w)` : literal, "g");
  });
}

const encodeForm = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
