/*
 * The secrets that must not be shown: for each client, its latest client secrets and tokens, and the long values of its
 * headers. They are remembered until the client is garbage-collected, even if it is closed: its last errors may be
 * created after that.
 */
import { SecretIndex } from "./secret-index.js";

/** How many secrets of a kind are remembered per client: the present secret and the four before it. */
const MAX_KEPT = 5;
/** How many header values of ended calls are remembered. Many values occur only once, such as the ID of a trace. */
const MAX_ENDED_HEADERS = 50;
/** The length from which the value of a header is a secret. A shorter value may be an ordinary word. */
const MIN_HEADER_LENGTH = 16;
/** How many clients are remembered on a runtime that does not report garbage collection (Workers of an older date). */
const MAX_CLIENTS = 1_000;
const PUBLIC_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "user-agent"]);

export const credentials = /* @__PURE__ */ new SecretIndex();
export const headerValues = /* @__PURE__ */ new SecretIndex();

/** The last strings of a kind that one client has used. */
class Newest {
  #values: string[] = [];

  constructor(
    readonly index: SecretIndex,
    readonly max: number,
  ) {}

  add(value: string): void {
    if (this.#values.at(-1) === value) return;
    const others = this.#values.filter((one) => one !== value);
    if (others.length === this.#values.length) this.index.add(value);
    this.#values = [...others, value];
    while (this.#values.length > this.max) this.index.delete(this.#values.shift() ?? "");
  }

  clear(): void {
    for (const value of this.#values.splice(0)) this.index.delete(value);
  }
}

/** The secrets that one client has used. They do not refer to the client, so that it can be collected. */
class Kept {
  readonly secrets = new Newest(credentials, MAX_KEPT);
  readonly tokens = new Newest(credentials, MAX_KEPT);
  readonly headers = new Newest(headerValues, Infinity);

  clear(): void {
    for (const newest of [this.secrets, this.tokens, this.headers]) newest.clear();
  }
}

let registry: FinalizationRegistry<Kept> | undefined;
const withoutRegistry = /* @__PURE__ */ new Set<Kept>();

/** The secrets of one client. The client refers to this object as long as it lives. */
export class ClientSecrets {
  readonly #kept = new Kept();

  constructor() {
    if (typeof FinalizationRegistry === "function") {
      registry ??= new FinalizationRegistry((kept) => kept.clear());
      registry.register(this, this.#kept);
      return;
    }
    withoutRegistry.add(this.#kept);
    const [oldest] = withoutRegistry;
    if (!oldest || withoutRegistry.size <= MAX_CLIENTS) return;
    withoutRegistry.delete(oldest);
    oldest.clear();
  }

  /** To be called before a client secret is used. */
  rememberSecret(secret: string): void {
    this.#kept.secrets.add(secret);
  }

  /** To be called before an access token is used. */
  rememberToken(token: string): void {
    this.#kept.tokens.add(token);
  }

  /** The long values of the client's headers, and the credentials of those that begin with a scheme: `ApiKey 0123…`. */
  rememberHeaders(headers: Readonly<Record<string, string>>): void {
    for (const value of longValuesOf(headers)) this.#kept.headers.add(value);
  }
}

const endedHeaders = /* @__PURE__ */ new Newest(headerValues, MAX_ENDED_HEADERS);

/** The same for the headers of a single call. Returns a function to be called when it has ended. */
export function rememberCallHeaders(headers: Readonly<Record<string, string>>): () => void {
  const values = longValuesOf(headers);
  for (const value of values) headerValues.add(value);
  return () => {
    for (const value of values) {
      endedHeaders.add(value);
      headerValues.delete(value);
    }
  };
}

function longValuesOf(headers: Readonly<Record<string, string>>): Set<string> {
  const values = Object.entries(headers).flatMap(([name, raw]) => {
    const value = raw.trim();
    return PUBLIC_HEADERS.has(name.toLowerCase()) ? [] : [value, value.slice(value.indexOf(" ") + 1).trim()];
  });
  return new Set(values.filter(({ length }) => length >= MIN_HEADER_LENGTH));
}
