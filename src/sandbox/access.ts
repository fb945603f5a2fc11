import { parseFormFields } from "./http/body.js";
import {
  insufficientPermissionsError,
  jsonResponse,
  rateLimitExceededMessage,
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
  readonly rateKey: string;
}

export class AccessControl {
  /** `undefined` without a limit. */
  readonly window: RateLimitWindow | undefined;
  readonly #tokens = new Map<string, { readonly client: SandboxClient; readonly expiresAt: number }>();

  constructor(private readonly settings: SandboxSettings) {
    this.window = settings.rateLimit ? new RateLimitWindow(settings.rateLimit) : undefined;
  }

  identifyCaller(request: SandboxRequest, path: string, now: number): CallerIdentity {
    const wantsToken = path === "/Token" && request.method === "POST";
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    const issued = wantsToken ? undefined : this.#tokens.get(bearer);
    const client = wantsToken ? this.#claimedClient(request) : issued?.client;
    const byAddress = this.settings.rateLimit && this.settings.rateLimit.per === "address";
    const rateKey = client && !byAddress ? client.clientId : `address ${request.address}`;
    return { client, isAuthenticated: issued !== undefined && now < issued.expiresAt, rateKey };
  }

  /** A new token, or undefined for wrong credentials. Earlier tokens stay valid. */
  issueToken(clientId: string, clientSecret: string, now: number): string | undefined {
    const { clients, tokenTtlSeconds } = this.settings;
    const client = clients.find((known) => known.clientId === clientId && known.clientSecret === clientSecret);
    if (!client) return undefined;
    const lifetimeMs = tokenTtlSeconds * 1000;
    // Tokens are kept for one lifetime after they expire, so that their requests still count for their client.
    for (const [token, { expiresAt }] of this.#tokens) if (expiresAt + lifetimeMs < now) this.#tokens.delete(token);
    const token = randomToken();
    this.#tokens.set(token, { client, expiresAt: now + lifetimeMs });
    return token;
  }

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
      return this.settings.clients.find((known) => known.clientId === clientId);
    } catch {
      return undefined;
    }
  }
}

/** A random string that a header can contain. */
function randomToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** A request exactly one interval old no longer counts. */
const CLOCK_RESOLUTION_MS = 1e-3;

/** Counts requests per client or address, in a sliding or a fixed window. */
class RateLimitWindow {
  readonly #times = new Map<string, number[]>();

  constructor(private readonly options: SandboxRateLimitSettings) {}

  /** Counts one request; returns a 429 if it is over the limit. */
  admit(key: string, now: number): SandboxResponse | undefined {
    const times = this.#timesInWindow(key, now);
    const { requests, countRefused } = this.options;
    const isOver = times.length >= requests;
    if (!isOver || countRefused) times.push(now);
    return isOver ? this.#refusal(times, now) : undefined;
  }

  /** Requests that are left before the next 429. */
  remaining(key: string, now: number): number {
    return Math.max(0, this.options.requests - this.#timesInWindow(key, now).length);
  }

  /** The times within the window, oldest first; older ones are dropped. */
  #timesInWindow(key: string, now: number): number[] {
    const times = this.#times.get(key) ?? [];
    const { window, intervalMs } = this.options;
    const start = window === "sliding" ? now - intervalMs + CLOCK_RESOLUTION_MS : this.#windowStart(now);
    const kept = times.findIndex((time) => time >= start);
    times.splice(0, kept === -1 ? times.length : kept);
    this.#times.set(key, times);
    return times;
  }

  #windowStart(now: number): number {
    return Math.floor(now / this.options.intervalMs) * this.options.intervalMs;
  }

  #refusal(times: readonly number[], now: number): SandboxResponse {
    const { requests, intervalMs, window, retryAfter } = this.options;
    const frees = window === "fixed" ? this.#windowStart(now) : (times[times.length - requests] ?? now);
    const freeAt = frees + intervalMs;
    const value =
      retryAfter === "date"
        ? new Date(Math.ceil(freeAt / 1000) * 1000).toUTCString()
        : String(Math.max(1, Math.ceil((freeAt - now) / 1000)));
    const body = { message: rateLimitExceededMessage(requests, intervalMs) };
    return jsonResponse(429, body, retryAfter === false ? {} : { "retry-after": value });
  }
}
