import { parseFormFields } from "../http/body.js";
import type { SandboxRequest } from "../http/request.js";
import { jsonResponse, type SandboxResponse } from "../http/response.js";
import { insufficientPermissionsError, readOnlyAccountError, unauthorizedError } from "../http/service-error.js";
import type { SandboxClient } from "../options/options.js";
import type { SandboxSettings } from "../options/settings.js";
import { type RateLimitUsage, RateLimitWindow, rateLimitExceededMessage } from "./rate-window.js";
import { parseBearerToken, TokenIssuer } from "./token-issuer.js";

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
  readonly tokens: TokenIssuer;
  private readonly rateWindow: RateLimitWindow | undefined;

  constructor(private readonly settings: SandboxSettings) {
    this.tokens = new TokenIssuer(settings.clients, settings.tokenTtlSeconds * 1000);
    this.rateWindow = settings.rateLimit ? new RateLimitWindow(settings.rateLimit) : undefined;
  }

  identifyCaller(request: SandboxRequest, path: string, now: number): CallerIdentity {
    const wantsToken = path === "/Token" && request.method === "POST";
    const token = wantsToken ? undefined : parseBearerToken(request.header("authorization"));
    const holder = token === undefined ? undefined : this.tokens.findToken(token, now);
    const client = wantsToken ? this.claimedClient(request) : holder?.client;
    const byAddress = this.settings.rateLimit && this.settings.rateLimit.per === "address";
    const rateKey = client && !byAddress ? client.clientId : `address ${request.address}`;
    return { client, isAuthenticated: holder !== undefined && !holder.expired, rateKey };
  }

  /** Counts the request; returns a 429 if it exceeds the limit. */
  countRequest({ rateKey }: CallerIdentity, now: number): SandboxResponse | undefined {
    const { rateLimit } = this.settings;
    if (!rateLimit || !this.rateWindow || this.rateWindow.admit(rateKey, now)) return undefined;
    const { freeAt } = this.rateWindow.usage(rateKey, now);
    return jsonResponse(
      429,
      { message: rateLimitExceededMessage(rateLimit) },
      retryAfterHeaders(rateLimit.retryAfter, freeAt, now),
    );
  }

  /** Usage of the caller's rate limit; undefined without a limit. */
  rateUsage(rateKey: string, now: number): RateLimitUsage | undefined {
    return this.rateWindow?.usage(rateKey, now);
  }

  /** Usage of every rate limit, for the page. */
  rateUsages(now: number): { key: string; usage: RateLimitUsage }[] {
    const { rateWindow } = this;
    return rateWindow ? rateWindow.keys().map((key) => ({ key, usage: rateWindow.usage(key, now) })) : [];
  }

  /** The client that a valid token belongs to. Throws 401. */
  authenticate({ client, isAuthenticated: authenticated }: CallerIdentity): SandboxClient {
    if (!client || !authenticated) throw unauthorizedError();
    return client;
  }

  /** Throws 403 if the client may not do this. */
  authorize(client: SandboxClient, permission: number, writes: boolean): void {
    if (writes && client.readOnly) throw readOnlyAccountError();
    if (client.permissions && !client.permissions.includes(permission)) throw insufficientPermissionsError();
  }

  /** The client that a token request names, whether or not its secret is right. */
  private claimedClient(request: SandboxRequest): SandboxClient | undefined {
    try {
      const clientId = parseFormFields(request.header("content-type"), request.body).get("client_id");
      return this.settings.clients.find((known) => known.clientId === clientId);
    } catch {
      return undefined;
    }
  }
}

function retryAfterHeaders(form: false | "seconds" | "date", freeAt: number, now: number): Record<string, string> {
  if (form === false) return {};
  if (form === "date") return { "retry-after": new Date(Math.ceil(freeAt / 1000) * 1000).toUTCString() };
  return { "retry-after": String(Math.max(1, Math.ceil((freeAt - now) / 1000))) };
}
