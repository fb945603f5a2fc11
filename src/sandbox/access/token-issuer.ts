import type { SandboxClient } from "../options/options.js";

interface IssuedToken {
  readonly client: SandboxClient;
  readonly expiresAt: number;
}

/** Issues access tokens and validates them. */
export class TokenIssuer {
  private readonly tokens = new Map<string, IssuedToken>();

  constructor(
    private readonly clients: readonly SandboxClient[],
    private readonly lifetimeMs: number,
  ) {}

  /** A new token, or undefined for wrong credentials. Earlier tokens stay valid. */
  issue(clientId: string, clientSecret: string, now: number): string | undefined {
    const client = this.clients.find((known) => known.clientId === clientId && known.clientSecret === clientSecret);
    if (!client) return undefined;
    this.forgetExpired(now);
    const token = randomToken();
    this.tokens.set(token, { client, expiresAt: now + this.lifetimeMs });
    return token;
  }

  /** The client of a token, and whether the token has expired; undefined for an unknown token. */
  findToken(token: string, now: number): { client: SandboxClient; expired: boolean } | undefined {
    const issued = this.tokens.get(token);
    return issued && { client: issued.client, expired: now >= issued.expiresAt };
  }

  /** Makes every token issued so far invalid. */
  revokeAll(): void {
    this.tokens.clear();
  }

  /** Keeps tokens for one lifetime after they expire, so that their requests still count for their client. */
  private forgetExpired(now: number): void {
    for (const [token, { expiresAt }] of this.tokens) {
      if (expiresAt + this.lifetimeMs < now) this.tokens.delete(token);
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

/** The token of an `Authorization: Bearer …` header. */
export function parseBearerToken(header: string | null): string | undefined {
  return header === null ? undefined : /^Bearer +(\S+)$/i.exec(header)?.[1];
}
