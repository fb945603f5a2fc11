import { formFields } from "../http/body.js";
import type { Incoming } from "../http/incoming.js";
import { insufficientPermissions, readOnlyAccount, unauthorized } from "../http/refusal.js";
import { json, type Reply } from "../http/reply.js";
import type { SandboxClient } from "../options.js";
import type { Settings } from "../settings.js";
import { type RateReading, RateWindow, rateLimitMessage } from "./rate-window.js";
import { bearerToken, TokenDesk } from "./token-desk.js";

/** Who a request comes from, as far as it tells. */
export interface Caller {
  readonly client: SandboxClient | undefined;
  /** Whether the client has proved itself with a token that is still good. */
  readonly authenticated: boolean;
  /** What the rate limit counts by. */
  readonly rateKey: string;
}

/** Everything a request has to pass before an endpoint sees it. */
export class Gate {
  readonly tokens: TokenDesk;
  private readonly window: RateWindow | undefined;

  constructor(private readonly settings: Settings) {
    this.tokens = new TokenDesk(settings.clients, settings.tokenTtlSeconds * 1000);
    this.window = settings.rateLimit ? new RateWindow(settings.rateLimit) : undefined;
  }

  identify(request: Incoming, path: string, now: number): Caller {
    const wantsToken = path === "/Token" && request.method === "POST";
    const token = wantsToken ? undefined : bearerToken(request.header("authorization"));
    const holder = token === undefined ? undefined : this.tokens.holder(token, now);
    const client = wantsToken ? this.claimed(request) : holder?.client;
    const byAddress = this.settings.rateLimit && this.settings.rateLimit.per === "address";
    const rateKey = client && !byAddress ? client.clientId : `address ${request.address}`;
    return { client, authenticated: holder !== undefined && !holder.expired, rateKey };
  }

  /** Counts the request; gives the answer 429 when it is one too many. */
  refuseExcess({ rateKey }: Caller, now: number): Reply | undefined {
    const { rateLimit } = this.settings;
    if (!rateLimit || !this.window || this.window.admit(rateKey, now)) return undefined;
    const { freeAt } = this.window.read(rateKey, now);
    return json(429, { message: rateLimitMessage(rateLimit) }, retryAfter(rateLimit.retryAfter, freeAt, now));
  }

  /** Where the caller's counter stands; undefined without a limit. */
  reading(rateKey: string, now: number): RateReading | undefined {
    return this.window?.read(rateKey, now);
  }

  /** Every counter, for the page. */
  readings(now: number): { key: string; reading: RateReading }[] {
    const { window } = this;
    return window ? window.keys().map((key) => ({ key, reading: window.read(key, now) })) : [];
  }

  /** The client, proved by a good token. Throws the refusal 401. */
  authenticated({ client, authenticated }: Caller): SandboxClient {
    if (!client || !authenticated) throw unauthorized();
    return client;
  }

  /** Throws the refusal 403 that fits. */
  authorize(client: SandboxClient, permission: number, writes: boolean): void {
    if (writes && client.readOnly) throw readOnlyAccount();
    if (client.permissions && !client.permissions.includes(permission)) throw insufficientPermissions();
  }

  /** The client that a token request names, whether or not its secret is right. */
  private claimed(request: Incoming): SandboxClient | undefined {
    try {
      const clientId = formFields(request.header("content-type"), request.body).get("client_id");
      return this.settings.clients.find((known) => known.clientId === clientId);
    } catch {
      return undefined;
    }
  }
}

function retryAfter(form: false | "seconds" | "date", freeAt: number, now: number): Record<string, string> {
  if (form === false) return {};
  if (form === "date") return { "retry-after": new Date(Math.ceil(freeAt / 1000) * 1000).toUTCString() };
  return { "retry-after": String(Math.max(1, Math.ceil((freeAt - now) / 1000))) };
}
