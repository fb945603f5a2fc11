import { isAccessToken } from "../../service/token.js";
import { AuthenticationError } from "../../shared/errors/index.js";
import { rememberSecret } from "../../shared/errors/redaction/secrets.js";
import { type Cancellation, SharedCancellation } from "../../shared/time/cancellation.js";
import { afterMs, race } from "../../shared/time/wait.js";
import { messageOf } from "../../shared/unknown.js";
import type { StoredToken, TokenStore } from "./token-store.js";

/*
 * The token of a client, and the refresh that replaces it. A call that finds no fresh token waits for the refresh; the first
 * one starts it.
 *
 *   token     fresh            calls use it
 *             about to expire  calls wait for a refresh. If it fails, the token counts as fresh again for a part of its time
 *             none             calls wait for a refresh, and fail with it
 *   refresh   running          all calls share it. When none waits any more, it is canceled: then it changes nothing
 *             none             the next call without a fresh token starts one
 *
 * A refresh takes the token of the store if that is neither the refused one nor the present one; otherwise, under the lock of
 * the store, it looks there again, then requests one. A token that the service refuses (401) is dropped at once; it stays
 * `refusedToken` until the next one, in case the store still has it. Calls in the queue of the limiter are not notified: each
 * finds no fresh token when it is granted a slot, returns that, and waits for the refresh (`acquireTokenAndSlot`).
 */

interface TokenRefresh {
  result: Promise<void>;
  /** Canceled when no call waits for the token any more. */
  cancellation: SharedCancellation;
}

/** A store that takes longer is ignored, like one that fails. */
const STORE_TIMEOUT_MS = 2_000;

export interface TokenManagerOptions {
  store: TokenStore;
  /** Whose token it is, for a store that clients of several accounts may use. */
  account: string;
  /** Requests a token from the service. Each waiting call creates its own error from the rejection. */
  request(cancellation: Cancellation): Promise<StoredToken>;
  /** The error that a rejection of the request stands for. */
  errorOf(rejection: unknown): unknown;
  /** Called when the store or a refresh fails; the client continues without it. */
  warn(message: string): void;
}

/** Keeps one token for all calls. If many calls need a new one at the same time, it is requested once. */
export interface TokenManager {
  /** The token, unless it is missing or about to expire. */
  readonly freshToken: string | undefined;
  /** The last token, even if it has expired: for a call whose tokens all expired in the queue. */
  readonly lastToken: string | undefined;
  /**
   * Waits for a token, which may be refused or expire before the call has its slot: then it has to wait again. The refresh is
   * canceled when no call waits for it any more.
   */
  ensureToken(cancellation: Cancellation): Promise<void>;
  /** The service refused this token. Only the first report of a token has an effect. */
  invalidate(refused: string): void;
}

export function createTokenManager({ store, account, request, errorOf, warn }: TokenManagerOptions): TokenManager {
  let token: (StoredToken & { refreshAt: number }) | undefined;
  let refresh: TokenRefresh | undefined;
  /** The token that the service refused last; a store that could not delete it may still return it. */
  let refusedToken: string | undefined;
  /**
   * Resolves when the last attempt to save a token has ended. Until then the store is not used for anything else, or it could
   * keep the old token.
   */
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
      await refresh.cancellation.join(cancellation, refresh.result);
    },
    invalidate(refused) {
      if (token?.accessToken !== refused) return;
      token = undefined;
      refusedToken = refused;
    },
  };

  function startRefresh(): TokenRefresh {
    const cancellation = new SharedCancellation();
    const isCurrent = () => refresh?.cancellation === cancellation;
    cancellation.onCancel(() => {
      if (isCurrent()) refresh = undefined;
    });
    const result = fetchToken(cancellation).then(
      (newToken) => {
        // The result of a canceled refresh is dropped: a later one may be in progress.
        if (isCurrent()) useToken(newToken);
      },
      (failure) => {
        if (!isCurrent()) throw failure;
        refresh = undefined;
        keepTokenAfter(failure);
      },
    );
    return { result, cancellation };
  }

  function useToken(newToken: StoredToken): void {
    token = { ...newToken, refreshAt: tokenRefreshTime(newToken.expiresAt, Date.now()) };
    refresh = refusedToken = undefined;
  }

  /** Puts the refresh off: the service may be available again before the token expires. Throws if there is none to use. */
  function keepTokenAfter(failure: unknown): void {
    const now = Date.now();
    const error = errorOf(failure);
    if (!token || token.expiresAt <= now || isRefusedCredentialsError(error)) throw failure;
    token.refreshAt = tokenRefreshTime(token.expiresAt, now);
    warn(`the token could not be renewed, the client continues to use the current one: ${messageOf(error)}`);
  }

  async function fetchToken(cancellation: Cancellation): Promise<StoredToken> {
    await cancellation.race(pendingSave);
    const refused = refusedToken;
    // The store may still return them: the one that was refused, and the present one, which is about to expire.
    const excluded = [refused, token?.accessToken];
    if (refused !== undefined)
      await useStore("delete", () => inTime(store.delete(refused), cancellation), cancellation);
    const stored = await readUsable(cancellation, excluded);
    if (stored) return stored;
    const unlock = await lock(cancellation);
    try {
      // The previous holder of the lock may have stored a new token, also if this process continues without the lock.
      const storedByOther = store.lock && (await readUsable(cancellation, excluded));
      if (storedByOther) return storedByOther;
      const newToken = await request(cancellation);
      // Calls do not wait for the store.
      pendingSave = useStore("set", () => inTime(store.set({ ...newToken }, account)));
      return newToken;
    } finally {
      if (unlock) void pendingSave.then(() => useStore("unlock", unlock));
    }
  }

  /** The token of the store, if it can be used. */
  async function readUsable(
    cancellation: Cancellation,
    excluded: readonly (string | undefined)[],
  ): Promise<StoredToken | undefined> {
    const stored = await useStore("get", () => inTime(store.get(account), cancellation), cancellation);
    if (!isUsableToken(stored) || excluded.includes(stored.accessToken)) return undefined;
    rememberSecret(stored.accessToken);
    return stored;
  }

  /** Waits for the lock of a store that several processes share; the store of one process has none. */
  async function lock(cancellation: Cancellation): Promise<(() => Promise<void>) | undefined> {
    if (!store.lock) return undefined;
    cancellation.throwIfCanceled();
    const abortController = new AbortController();
    const unsubscribe = cancellation.onCancel(() => abortController.abort());
    // Without a time limit: the holder may be waiting for the end of a pause. A lock that comes late is released again.
    const unlock = await useStore("lock", () => store.lock?.(abortController.signal), cancellation);
    unsubscribe();
    if (cancellation.reason && unlock) void useStore("unlock", unlock);
    cancellation.throwIfCanceled();
    return unlock;
  }

  /** Runs an action of the store. If it fails, the client continues without its result. */
  async function useStore<T>(
    action: string,
    run: () => Promise<T> | undefined,
    cancellation?: Cancellation,
  ): Promise<T | undefined> {
    cancellation?.throwIfCanceled();
    try {
      return await run();
    } catch (error) {
      cancellation?.throwIfCanceled();
      warn(`the token store failed to ${action}: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** The result of an action of the store, unless it takes too long. The store of a caller may return no promise. */
function inTime<T>(result: Promise<T>, cancellation?: Cancellation): Promise<T> {
  const limit = afterMs(STORE_TIMEOUT_MS, () => new Error(`it took longer than ${STORE_TIMEOUT_MS} ms`));
  const action = Promise.resolve(result);
  return cancellation ? cancellation.race(action, limit) : race(action, limit);
}

/** The statuses with which a token endpoint refuses credentials. */
const REFUSED_CREDENTIALS_STATUSES = [400, 401, 403];

const isRefusedCredentialsError = (error: unknown) =>
  error instanceof AuthenticationError && REFUSED_CREDENTIALS_STATUSES.includes(error.status);

function isUsableToken(token: StoredToken | null | undefined): token is StoredToken {
  return (
    isAccessToken(token?.accessToken) && Number.isFinite(token?.expiresAt) && Number(token?.expiresAt) > Date.now()
  );
}

const DAY_MS = 86_400_000;
const MAX_REFRESH_MARGIN_MS = 60_000;

/**
 * How long a token may be used, in ms. `expires_in` is documented as "token lifetime" and taken as seconds; if it is
 * missing, zero or invalid, the token is used until the service rejects it, at most for a day.
 */
export function parseTokenLifetimeMs(expiresIn: unknown): number {
  const seconds = typeof expiresIn === "string" && expiresIn.trim() !== "" ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds >= 1)) return DAY_MS;
  return Math.min(seconds * 1_000, DAY_MS);
}

/** When to request the next token: a minute before the end, or a tenth of the remaining time if that is less. */
export function tokenRefreshTime(expiresAt: number, now: number): number {
  return expiresAt - Math.min(MAX_REFRESH_MARGIN_MS, (expiresAt - now) / 10);
}
