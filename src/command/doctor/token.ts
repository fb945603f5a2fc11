import type { StoredToken, TokenStore } from "../../auth/token-store.js";
import { InventoryClient } from "../../client.js";
import { isStocklotError } from "../../errors/any-error.js";
import { AuthenticationError } from "../../errors/index.js";
import type { ClientOptions } from "../../options.js";
import { type Finding, note, ok } from "./finding.js";

const DAY_MS = 86_400_000;
const SHORT_TOKEN_MS = 60_000;
/** Nobody's, so that no failed attempt is counted against a real client. */
const UNKNOWN_CREDENTIALS = { clientId: "stocklot-doctor", clientSecret: "not-a-secret" };

/** Keeps no token, but notes how long the last one is valid. */
export class ObservedTokenStore implements TokenStore {
  lifetimeMs: number | undefined;
  /** When the token was requested, which its lifetime counts from. */
  requestedAt = Date.now();

  async get(): Promise<undefined> {}
  async set({ expiresAt }: StoredToken): Promise<void> {
    this.lifetimeMs = expiresAt - this.requestedAt;
  }
  async delete(): Promise<void> {}
}

export function tokenFinding(lifetimeMs = 0): Finding {
  if (hasNoExpiry(lifetimeMs)) {
    const hint = "It is used until the service refuses it, for a day at most.";
    return note("token", "granted, without a usable expires_in", hint);
  }
  const summary = `granted, valid for ${Math.ceil(lifetimeMs / 1_000)} s`;
  if (lifetimeMs < SHORT_TOKEN_MS) return note("token", summary, "Each new token takes a slot of the rate limit.");
  return ok("token", summary);
}

/** Without a usable `expires_in` the client uses a token for a day. */
export const hasNoExpiry = (lifetimeMs: number) => lifetimeMs > 0.99 * DAY_MS;

/** How the service refuses unknown credentials. */
export async function tokenFailure(
  options: ClientOptions,
  signal?: AbortSignal,
): Promise<AuthenticationError | undefined> {
  const client = new InventoryClient({ ...options, ...UNKNOWN_CREDENTIALS });
  try {
    await client.items.list({ pageSize: 1 }, { signal, retry: false }).page();
  } catch (error) {
    if (error instanceof AuthenticationError) return error;
    if (!isStocklotError(error)) throw error;
  } finally {
    await client.close();
  }
  return undefined;
}
