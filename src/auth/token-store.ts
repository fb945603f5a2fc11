/** An access token and its end. */
export interface StoredToken {
  /** What is sent as the bearer. */
  accessToken: string;
  /** When the token expires, in ms since the epoch. */
  expiresAt: number;
}

/**
 * Where the access token lives. In memory by default; a shared store lets several processes use one token.
 * A store that fails is logged and passed over: the client then gets a token of its own.
 */
export interface TokenStore {
  /** The token, or `undefined` (or null) when there is none. */
  get(): Promise<StoredToken | null | undefined>;
  /** Keeps a new token in place of the one before. */
  set(token: StoredToken): Promise<void>;
  /** Removes the token if it still is the one that the service refused. */
  delete(staleAccessToken: string): Promise<void>;
  /**
   * For a store that several processes share: waits until no other process is getting a token, and gives what lets the
   * next one go on. Rejects with the signal's reason when the client needs no token any more.
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
