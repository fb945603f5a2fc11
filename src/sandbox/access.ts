import { parseFormFields } from "./http/body.js";
import {
  insufficientPermissionsError,
  jsonResponse,
  readOnlyAccountError,
  type SandboxRequest,
  type SandboxResponse,
  unauthorizedError,
} from "./http/messages.js";
import type { SandboxClient } from "./options/options.js";
import type { SandboxRateLimitSettings, SandboxSettings } from "./options/settings.js";

/** Who sent a request, as far as it is known. */
export interface CallerIdentity {
  readonly client: SandboxClient | undefined;
  /** Whether the token is valid. */
  readonly isAuthenticated: boolean;
  /** Key of the counter in the rate limit. */
  readonly rateKey: string;
}

/** Authentication, permissions and the rate limit. */
export class AccessControl {
  readonly rateWindow: RateLimitWindow | undefined;
  readonly #settings: SandboxSettings;
  readonly #tokens = new Map<string, IssuedToken>();

  constructor(settings: SandboxSettings) {
    this.#settings = settings;
    this.rateWindow = settings.rateLimit ? new RateLimitWindow(settings.rateLimit) : undefined;
  }

  identifyCaller(request: SandboxRequest, path: string, now: number): CallerIdentity {
    const wantsToken = path === "/Token" && request.method === "POST";
    const issued = wantsToken ? undefined : this.#tokens.get(parseBearerToken(request.headers.get("authorization")));
    const client = wantsToken ? this.#claimedClient(request) : issued?.client;
    const byAddress = this.#settings.rateLimit && this.#settings.rateLimit.per === "address";
    const rateKey = client && !byAddress ? client.clientId : `address ${request.address}`;
    return { client, isAuthenticated: issued !== undefined && now < issued.expiresAt, rateKey };
  }

  /** Counts the request; returns a 429 if it exceeds the limit. */
  countRequest({ rateKey }: CallerIdentity, now: number): SandboxResponse | undefined {
    const { rateLimit } = this.#settings;
    if (!rateLimit || !this.rateWindow || this.rateWindow.admit(rateKey, now)) return undefined;
    const { freeAt } = this.rateWindow.usage(rateKey, now);
    return jsonResponse(
      429,
      { message: rateLimitExceededMessage(rateLimit) },
      retryAfterHeaders(rateLimit.retryAfter, freeAt, now),
    );
  }

  /** A new token, or undefined for wrong credentials. Earlier tokens stay valid. */
  issueToken(clientId: string, clientSecret: string, now: number): string | undefined {
    const { clients, tokenTtlSeconds } = this.#settings;
    const client = clients.find((known) => known.clientId === clientId && known.clientSecret === clientSecret);
    if (!client) return undefined;
    const lifetimeMs = tokenTtlSeconds * 1000;
    // Tokens are kept for one lifetime after they expire, so that their requests still count for their client.
    for (const [token, { expiresAt }] of this.#tokens) if (expiresAt + lifetimeMs < now) this.#tokens.delete(token);
    const token = randomToken();
    this.#tokens.set(token, { client, expiresAt: now + lifetimeMs });
    return token;
  }

  /** Makes every token issued so far invalid. */
  revokeTokens(): void {
    this.#tokens.clear();
  }

  /** The client that a valid token belongs to. Throws 401. */
  authenticate({ client, isAuthenticated }: CallerIdentity): SandboxClient {
    if (!client || !isAuthenticated) throw unauthorizedError();
    return client;
  }

  /** Throws 403 if the client may not do this. */
  authorize(client: SandboxClient, permission: number, writes: boolean): void {
    if (writes && client.readOnly) throw readOnlyAccountError();
    if (client.permissions && !client.permissions.includes(permission)) throw insufficientPermissionsError();
  }

  /** The client that a token request names, whether or not its secret is right. */
  #claimedClient(request: SandboxRequest): SandboxClient | undefined {
    try {
      const clientId = parseFormFields(request.headers.get("content-type"), request.body).get("client_id");
      return this.#settings.clients.find((known) => known.clientId === clientId);
    } catch {
      return undefined;
    }
  }
}

interface IssuedToken {
  readonly client: SandboxClient;
  readonly expiresAt: number;
}

function retryAfterHeaders(form: false | "seconds" | "date", freeAt: number, now: number): Record<string, string> {
  if (form === false) return {};
  if (form === "date") return { "retry-after": new Date(Math.ceil(freeAt / 1000) * 1000).toUTCString() };
  return { "retry-after": String(Math.max(1, Math.ceil((freeAt - now) / 1000))) };
}

/** A random string that a header can contain. */
function randomToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** Empty if the header contains none. */
const parseBearerToken = (header: string | null) => /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";

interface RateLimitUsage {
  readonly limit: number;
  readonly used: number;
  /** Requests left before the next 429. */
  readonly remaining: number;
  /** When the next slot becomes free, in milliseconds since the epoch. */
  readonly freeAt: number;
}

/** Counts requests per client or address, in a sliding or a fixed window. */
class RateLimitWindow {
  /** When the requests of each key were counted. */
  readonly #times = new Map<string, number[]>();

  readonly #options: SandboxRateLimitSettings;

  constructor(options: SandboxRateLimitSettings) {
    this.#options = options;
  }

  /** Counts one request; returns false if it is over the limit. */
  admit(key: string, now: number): boolean {
    const times = this.#timesInWindow(key, now);
    const admitted = times.length < this.#options.requests;
    if (admitted || this.#options.countRefused) times.push(now);
    return admitted;
  }

  usage(key: string, now: number): RateLimitUsage {
    const times = this.#timesInWindow(key, now);
    const { requests, intervalMs, window } = this.#options;
    const remaining = Math.max(0, requests - times.length);
    const frees = window === "fixed" ? this.#windowStart(now) : (times[times.length - requests] ?? now);
    return { limit: requests, used: times.length, remaining, freeAt: remaining > 0 ? now : frees + intervalMs };
  }

  /** The times within the window, oldest first; older ones are dropped. */
  #timesInWindow(key: string, now: number): number[] {
    const times = this.#times.get(key) ?? [];
    const { window, intervalMs } = this.#options;
    const start = window === "sliding" ? now - intervalMs + CLOCK_RESOLUTION_MS : this.#windowStart(now);
    const kept = times.findIndex((time) => time >= start);
    times.splice(0, kept === -1 ? times.length : kept);
    this.#times.set(key, times);
    return times;
  }

  #windowStart(now: number): number {
    return Math.floor(now / this.#options.intervalMs) * this.#options.intervalMs;
  }
}

/** A request exactly one interval old no longer counts. */
const CLOCK_RESOLUTION_MS = 1e-3;

/** The message of the 429 body: "Rate Limit Exceeded. 100 per Minute". */
export function rateLimitExceededMessage({
  requests,
  intervalMs,
}: Pick<SandboxRateLimitSettings, "requests" | "intervalMs">): string {
  const unit =
    INTERVAL_NAMES.get(intervalMs) ?? (intervalMs % 1000 === 0 ? `${intervalMs / 1000} Seconds` : `${intervalMs} ms`);
  return `Rate Limit Exceeded. ${requests} per ${unit}`;
}

const INTERVAL_NAMES: ReadonlyMap<number, string> = new Map([
  [1000, "Second"],
  [60_000, "Minute"],
  [3_600_000, "Hour"],
]);
