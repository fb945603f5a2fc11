import { messageOf } from "../errors/message-of.js";
import type { Secrets } from "../errors/redact.js";
import { isAccessToken } from "../schemas/token.js";
import { Lifetime } from "../time/lifetime.js";
import { refreshTime } from "./token-life.js";
import type { StoredToken, TokenStore } from "./token-store.js";

interface Refresh {
  done: Promise<void>;
  waiting: number;
  lifetime: Lifetime;
}

export interface TokenManagerOptions {
  store: TokenStore;
  secrets: Secrets;
  /** Asks the service for a token. */
  request(lifetime: Lifetime): Promise<StoredToken>;
  /** Told when the store fails; the client goes on without it. */
  warn(message: string): void;
}

/** Keeps one token for all calls. However many miss it at once, one of them gets a new one. */
export class TokenManager {
  readonly #options: TokenManagerOptions;
  #token: (StoredToken & { refreshAt: number }) | undefined;
  #refresh: Refresh | undefined;
  /** The token that the service refused last; a store that could not delete it may still give it. */
  #refused: string | undefined;

  constructor(options: TokenManagerOptions) {
    this.#options = options;
  }

  /** The token, if there is one that is not about to expire. */
  get current(): string | undefined {
    return this.#token && Date.now() < this.#token.refreshAt ? this.#token.accessToken : undefined;
  }

  /** The last token, though it may have expired: for a call whose every slot came later than its token lived. */
  get latest(): string | undefined {
    return this.#token?.accessToken;
  }

  /** Waits until there is a token. The refresh is called off when nobody waits for it any more. */
  async ready(lifetime: Lifetime): Promise<void> {
    if (this.current !== undefined) return;
    this.#refresh ??= this.#startRefresh();
    const refresh = this.#refresh;
    refresh.waiting += 1;
    try {
      await lifetime.until(refresh.done);
    } finally {
      refresh.waiting -= 1;
      if (refresh.waiting === 0 && this.#refresh === refresh) {
        this.#refresh = undefined;
        refresh.lifetime.end({ kind: "closed" });
      }
    }
  }

  /** The service refused this token. Only the first call to say so has an effect. */
  invalidate(stale: string): void {
    if (this.#token?.accessToken !== stale) return;
    this.#token = undefined;
    this.#refused = stale;
  }

  #startRefresh(): Refresh {
    const lifetime = new Lifetime();
    const refresh: Refresh = {
      lifetime,
      waiting: 0,
      done: this.#obtain(lifetime).then((token) => {
        // One that was called off meanwhile must not overwrite what came after it.
        if (this.#refresh !== refresh) return;
        this.#token = { ...token, refreshAt: refreshTime(token.expiresAt, Date.now()) };
        this.#refresh = undefined;
        this.#refused = undefined;
      }),
    };
    refresh.done.catch(() => {
      if (this.#refresh === refresh) this.#refresh = undefined;
    });
    return refresh;
  }

  async #obtain(lifetime: Lifetime): Promise<StoredToken> {
    const { store } = this.#options;
    const refused = this.#refused;
    // The token that is about to expire may still be in the store.
    const useless = [refused, this.#token?.accessToken];
    if (refused !== undefined) await this.#tryStore("delete", () => store.delete(refused));
    const stored = await this.#stored(useless);
    if (stored) return stored;
    const unlock = await this.#lock(lifetime);
    try {
      // Whoever had the lock before may have got one for all.
      const meanwhile = unlock && (await this.#stored(useless));
      if (meanwhile) return meanwhile;
      const token = await this.#options.request(lifetime);
      await this.#tryStore("set", () => store.set({ ...token }));
      return token;
    } finally {
      if (unlock) void this.#tryStore("unlock", unlock);
    }
  }

  /** The token of the store, if there is one that may be used. */
  async #stored(useless: readonly (string | undefined)[]): Promise<StoredToken | undefined> {
    const { store, secrets } = this.#options;
    const stored = await this.#tryStore("get", () => store.get());
    // One may have been refused while we asked.
    if (!isUsable(stored) || [...useless, this.#refused].includes(stored.accessToken)) return undefined;
    secrets.addToken(stored.accessToken);
    return stored;
  }

  /** Waits for the other processes that share the store; a store of one process needs no lock. */
  async #lock(lifetime: Lifetime): Promise<(() => Promise<void>) | undefined> {
    const { store } = this.#options;
    if (!store.lock) return undefined;
    lifetime.throwIfEnded();
    const lock = store.lock.bind(store);
    const calledOff = new AbortController();
    const forget = lifetime.onEnd(() => calledOff.abort());
    const unlock = await this.#tryStore("lock", () => lock(calledOff.signal), calledOff.signal);
    forget();
    if (lifetime.ending && unlock) void this.#tryStore("unlock", unlock);
    lifetime.throwIfEnded();
    return unlock;
  }

  async #tryStore<T>(action: string, run: () => Promise<T>, calledOff?: AbortSignal): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      if (calledOff?.aborted) return undefined;
      this.#options.warn(`the token store failed to ${action}: ${messageOf(error)}`);
      return undefined;
    }
  }
}

function isUsable(token: StoredToken | null | undefined): token is StoredToken {
  return (
    isAccessToken(token?.accessToken) && Number.isFinite(token?.expiresAt) && Number(token?.expiresAt) > Date.now()
  );
}
