import { byteString, encodeUtf8 } from "./byte-string.js";
import { decodeRepeatedly } from "./decode-escapes.js";
import { MIN_SECRET_LENGTH, SecretIndex, type TextRange } from "./secret-index.js";

/** Tokens are replaced about every hour; an old one can still appear in a late response. */
const MAX_REMEMBERED_TOKENS = 8;

/** Of each client secret, three strings are registered. Secrets may be rotated at each token request. */
const CREDENTIALS_REMEMBERED = 3 * MAX_REMEMBERED_TOKENS;

/** The secrets of a closed client can still appear in late responses and callbacks. */
const MAX_REMEMBERED_CLOSED_CLIENTS = 100;

/** Client secrets and tokens; values of client headers, which may be ordinary words. */
export type SecretKind = "credential" | "header";

const SECRET_INDEXES: Readonly<Record<SecretKind, SecretIndex>> = {
  credential: /* @__PURE__ */ new SecretIndex(),
  header: /* @__PURE__ */ new SecretIndex(),
};

/** The forms of each secret that one client has registered. */
interface RegisteredSecrets {
  readonly headers: Map<string, readonly string[]>;
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
  readonly #registered: RegisteredSecrets = {
    headers: new Map(),
    lasting: new Map(),
    credentials: new Map(),
    tokens: new Map(),
  };

  constructor(secrets: readonly string[] = []) {
    for (const secret of secrets) this.add(secret);
    clientFinalizationRegistry?.register(this, this.#registered);
  }

  add(secret: string): void {
    addOnce(this.#registered.lasting, secret, "credential");
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
      addOnce(this.#registered.headers, value, "header");
      addOnce(this.#registered.headers, value.slice(value.indexOf(" ") + 1).trim(), "header");
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

function addOnce(added: Map<string, readonly string[]>, secret: string, kind: SecretKind): void {
  if (!added.has(secret)) added.set(secret, registerForms(secret, kind));
}

function registerForms(secret: string, kind: SecretKind): readonly string[] {
  const forms = searchableFormsOf(secret);
  SECRET_INDEXES[kind].register(forms);
  return forms;
}

/** Registers a secret, and forgets the one that was added first if there are more than `limit`. */
function addRecent(recent: Map<string, readonly string[]>, secret: string, limit: number): void {
  const forms = recent.get(secret) ?? registerForms(secret, "credential");
  recent.delete(secret);
  recent.set(secret, forms);
  const [oldest] = recent;
  if (!oldest || recent.size <= limit) return;
  recent.delete(oldest[0]);
  SECRET_INDEXES.credential.unregister(oldest[1]);
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
  const { headers, lasting, credentials, tokens } = oldest;
  forgetAll(headers, "header");
  for (const secrets of [lasting, credentials, tokens]) forgetAll(secrets, "credential");
}

function forgetAll(secrets: Map<string, readonly string[]>, kind: SecretKind): void {
  for (const forms of secrets.values()) SECRET_INDEXES[kind].unregister(forms);
  secrets.clear();
}

/** The forms of a secret that a string may contain once its escapes are decoded: the secret itself, or its base64. */
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

/**
 * The ranges of a string that contain secrets of some kinds, however they are escaped. Throws if the search takes too
 * long.
 */
export function findSecrets(text: string, kinds: readonly SecretKind[]): TextRange[] {
  const indexes = kinds.map((kind) => SECRET_INDEXES[kind]).filter((index) => !index.isEmpty);
  if (indexes.length === 0) return [];
  const found: TextRange[] = [];
  for (const { bytes, origins } of decodeRepeatedly(text)) {
    const searched = plusToSpace(bytes);
    for (const [start, end] of indexes.flatMap((index) => index.find(searched)))
      found.push(origins ? [origins[start] ?? start, origins[end] ?? end] : [start, end]);
  }
  return found;
}
