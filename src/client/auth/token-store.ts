/** An access token and when it expires. */
export interface StoredToken {
  /** Sent as the bearer token. */
  accessToken: string;
  /** When the token expires, in ms since the epoch. */
  expiresAt: number;
}

/**
 * Where the access token is stored. The default is in memory; a shared store allows several processes to use one token.
 * If the store fails, the client logs a warning and requests a token of its own.
 */
export interface TokenStore {
  /**
   * Returns the token, or `undefined` or `null` if there is none. The client passes an `account`, which names its
   * service (`serviceId`, by default the base URL) and client ID: if clients of several accounts use a store, it must not
   * return the token of another account.
   */
  get(account?: string): Promise<StoredToken | null | undefined>;
  /** Replaces the token. */
  set(token: StoredToken, account?: string): Promise<void>;
  /** Removes the stored token if it is `staleAccessToken`, which the service has refused. */
  delete(staleAccessToken: string): Promise<void>;
  /**
   * For a store that several processes share: waits until no other process is requesting a token, and returns a function
   * that releases the lock. Rejects with the signal's reason if the client needs no token any more.
   */
  lock?(signal: AbortSignal): Promise<() => Promise<void>>;
}

export function createMemoryTokenStore(): TokenStore {
  let stored: StoredToken | undefined;
  return {
    get: async () => stored,
    set: async (token) => {
      stored = token;
    },
    delete: async (staleAccessToken) => {
      if (stored?.accessToken === staleAccessToken) stored = undefined;
    },
  };
}
