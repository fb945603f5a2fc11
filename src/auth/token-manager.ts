import { AuthenticationError } from "../errors/index.js";
import type { Secrets } from "../errors/redaction/secrets.js";
import { messageOf } from "../errors/unknown-value.js";
import { isAccessToken } from "../schemas/token.js";
import { Cancellation } from "../time/cancellation.js";
import type { StoredToken, TokenStore } from "./token-store.js";

interface Refresh {
  result: Promise<void>;
  cancellation: RefreshCancellation;
}

/** Lasts as long as a call waits for the token. A call that the token would reach too late ends with it. */
class RefreshCancellation extends Cancellation {
  readonly waiting = new Set<Cancellation>();

  override cancelIfDeadlineBefore(delayMs: number): void {
    for (const cancellation of this.waiting) cancellation.cancelIfDeadlineBefore(delayMs);
  }
}

/** A store that takes longer is passed over, as one that fails. */
const STORE_TIMEOUT_MS = 2_000;

export interface TokenManagerOptions {
  store: TokenStore;
  secrets: Secrets;
  /** Asks the service for a token. Rejects with what each waiting call makes an error of its own from; its cause is one. */
  request(cancellation: Cancellation): Promise<StoredToken>;
  /** Told when the store fails, or a renewal: the client goes on without. */
  warn(message: string): void;
}

/** Keeps one token for all calls. However many miss it at once, one of them gets a new one. */
export interface TokenManager {
  /** The token, if there is one that is not about to expire. */
  readonly freshToken: string | undefined;
  /** The last token, though it may have expired: for a call whose every slot came later than its token lived. */
  readonly lastToken: string | undefined;
  /** Waits until there is a token. The refresh is called off when nobody waits for it any more. */
  ensureToken(cancellation: Cancellation): Promise<void>;
  /** The service refused this token. Only the first call to say so has an effect. */
  invalidate(stale: string): void;
}

export function createTokenManager({ store, secrets, request, warn }: TokenManagerOptions): TokenManager {
  let token: (StoredToken & { refreshAt: number }) | undefined;
  let refresh: Refresh | undefined;
  /** The token that the service refused last; a store that could not delete it may still give it. */
  let rejectedToken: string | undefined;
  /** The new token on its way into the store. The store is used for nothing else meanwhile, lest it keep the old one. */
  let pendingSave: Promise<unknown> = Promise.resolve();

  return {
    get freshToken() {
      return token && Date.now() < token.refreshAt ? token.accessToken : undefined;
    },
    get lastToken() {
      return token?.accessToken;
    },
    async ensureToken(cancellation) {
      if (this.freshToken !== undefined) return;
      refresh ??= startRefresh();
      const mine = refresh;
      mine.cancellation.waiting.add(cancellation);
      try {
        await cancellation.race(mine.result);
      } catch (error) {
        if (cancellation.reason || this.freshToken === undefined) throw error;
      } finally {
        mine.cancellation.waiting.delete(cancellation);
        if (mine.cancellation.waiting.size === 0 && refresh === mine) {
          refresh = undefined;
          mine.cancellation.cancel({ kind: "closed" });
        }
      }
    },
    invalidate(stale) {
      if (token?.accessToken !== stale) return;
      token = undefined;
      rejectedToken = stale;
    },
  };

  function startRefresh(): Refresh {
    const cancellation = new RefreshCancellation();
    const started: Refresh = {
      cancellation,
      result: fetchToken(cancellation).then((obtained) => {
        // One that was called off meanwhile must not overwrite what came after it.
        if (refresh !== started) return;
        token = { ...obtained, refreshAt: refreshTime(obtained.expiresAt, Date.now()) };
        refresh = rejectedToken = undefined;
      }),
    };
    started.result.catch((error) => {
      if (refresh !== started) return;
      refresh = undefined;
      const now = Date.now();
      const isRefused = error instanceof Error && isCredentialsError(error.cause);
      if (!token || token.expiresAt <= now || isRefused) return;
      // The service may be back before it expires.
      token.refreshAt = refreshTime(token.expiresAt, now);
      warn(`the token could not be renewed, and is used a little longer: ${messageOf(error)}`);
    });
    return started;
  }

  async function fetchToken(cancellation: Cancellation): Promise<StoredToken> {
    await cancellation.race(pendingSave);
    // The token that is about to expire may still be in the store.
    const useless = [rejectedToken, token?.accessToken];
    const [stale] = useless;
    if (stale !== undefined) await withTimeout("delete", () => store.delete(stale), cancellation);
    const stored = await readUsable(cancellation, useless);
    if (stored) return stored;
    const unlock = await lock(cancellation);
    try {
      // Whoever had the lock before may have got one for all.
      const meanwhile = unlock && (await readUsable(cancellation, useless));
      if (meanwhile) return meanwhile;
      const obtained = await request(cancellation);
      // Calls need not wait for the store.
      pendingSave = withTimeout("set", () => store.set({ ...obtained }));
      return obtained;
    } finally {
      if (unlock) void pendingSave.then(() => withoutTimeout("unlock", unlock));
    }
  }

  /** The token of the store, if there is one that may be used. */
  async function readUsable(
    cancellation: Cancellation,
    useless: readonly (string | undefined)[],
  ): Promise<StoredToken | undefined> {
    const stored = await withTimeout("get", () => store.get(), cancellation);
    // One may have been refused while we asked.
    if (!isUsable(stored) || [...useless, rejectedToken].includes(stored.accessToken)) return undefined;
    secrets.addToken(stored.accessToken);
    return stored;
  }

  /** Waits for the other processes that share the store; a store of one process needs no lock. */
  async function lock(cancellation: Cancellation): Promise<(() => Promise<void>) | undefined> {
    if (!store.lock) return undefined;
    cancellation.throwIfCancelled();
    const calledOff = new AbortController();
    const forget = cancellation.onCancel(() => calledOff.abort());
    const unlock = await withoutTimeout("lock", () => store.lock?.(calledOff.signal), calledOff.signal);
    forget();
    if (cancellation.reason && unlock) void withoutTimeout("unlock", unlock);
    cancellation.throwIfCancelled();
    return unlock;
  }

  /** Does something with the store, which may fail or never end. */
  async function withTimeout<T>(
    action: string,
    run: () => Promise<T> | undefined,
    cancellation = new Cancellation(),
  ): Promise<T | undefined> {
    cancellation.throwIfCancelled();
    const limit = new Cancellation([], STORE_TIMEOUT_MS);
    const forget = cancellation.onCancel(() => limit.cancel({ kind: "closed" }));
    try {
      return await limit.race(Promise.resolve(run()));
    } catch (error) {
      cancellation.throwIfCancelled();
      warnStoreFailure(action, limit.reason ? `it took longer than ${STORE_TIMEOUT_MS} ms` : messageOf(error));
      return undefined;
    } finally {
      forget();
      limit.dispose();
    }
  }

  /** Does something with the store, which may fail. */
  async function withoutTimeout<T>(
    action: string,
    run: () => Promise<T> | undefined,
    calledOff?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      if (!calledOff?.aborted) warnStoreFailure(action, messageOf(error));
      return undefined;
    }
  }

  function warnStoreFailure(action: string, problem: string): void {
    warn(`the token store failed to ${action}: ${problem}`);
  }
}

/** The statuses by which a token endpoint refuses credentials. */
const CREDENTIALS_STATUSES = [400, 401, 403];

const isCredentialsError = (error: unknown) =>
  error instanceof AuthenticationError && CREDENTIALS_STATUSES.includes(error.status);

function isUsable(token: StoredToken | null | undefined): token is StoredToken {
  return (
    isAccessToken(token?.accessToken) && Number.isFinite(token?.expiresAt) && Number(token?.expiresAt) > Date.now()
  );
}

const DAY_MS = 86_400_000;
const LONGEST_MARGIN_MS = 60_000;

/**
 * How long a token may be used, in ms. `expires_in` is documented as "token lifetime" and taken as seconds; one that is
 * missing, zero or senseless means: until it is refused, at most a day.
 */
export function tokenLifetimeMs(expiresIn: unknown): number {
  const seconds = typeof expiresIn === "string" && expiresIn.trim() !== "" ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds >= 1)) return DAY_MS;
  return Math.min(seconds * 1_000, DAY_MS);
}

/** When to get the next token: a minute before the end, or a tenth of the time that is left. */
export function refreshTime(expiresAt: number, now: number): number {
  return expiresAt - Math.min(LONGEST_MARGIN_MS, (expiresAt - now) / 10);
}
