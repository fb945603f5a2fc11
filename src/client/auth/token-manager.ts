/*
 * Keeps the token of a client, and renews it. A call that finds no fresh token waits for the renewal. The first such call starts
 * the renewal.
 *
 *   token     fresh            Calls use it.
 *             about to expire  Calls wait for a renewal. If it fails, the token counts as fresh for most of its remaining time.
 *             none             Calls wait for a renewal. If it fails, they fail, too.
 *   renewal   running          All calls share it. When no call waits for it any more, it is aborted and changes nothing.
 *             none             The next call without a fresh token starts one.
 *
 * A renewal first reads the store. It takes the token of the store unless that token is the refused or the present one. Otherwise it
 * takes the lock of the store, reads the store again, and then requests a token. A token that the service refuses (401) is
 * dropped at once. It stays `#refused` until there is a new one, because the store may still have it. Calls in the queue of the
 * limiter are not notified: each of them finds no fresh token when it gets a slot, gives the slot back, and waits for the renewal
 * (send/attempt.ts).
 */

import { refusesCredentials } from "../../service/status.js";
import { isAccessToken } from "../../service/token.js";
import { AuthenticationError } from "../../shared/errors/index.js";
import type { Abortable, Lifetime } from "../../shared/time/abort.js";
import { SharedWork } from "../../shared/time/shared-work.js";
import { afterMs, race, untilAborted } from "../../shared/time/wait.js";
import { messageOf } from "../../shared/unknown.js";
import type { StoredToken, TokenStore } from "./token-store.js";

/** How long a store may take, in ms. A store that takes longer is ignored, like a store that fails. */
const STORE_TIMEOUT_MS = 2_000;

export interface TokenManagerOptions {
  store: TokenStore;
  /** The name of the account, for a store that contains tokens of several accounts. */
  account: string;
  /** Called before a token from the store is used. */
  remember(accessToken: string): void;
  /** Requests a token from the service. `onFailedAttempt` is called with the error of each attempt that failed. */
  request(signal: AbortSignal, onFailedAttempt: (error: unknown) => void): Promise<StoredToken>;
  /** Called when the store or a renewal fails; the client continues without it. */
  warn(message: string): void;
}

/** Keeps one token for all calls. If many calls need a new token at the same time, one is requested. */
export class TokenManager {
  readonly #options: TokenManagerOptions;
  #token: (StoredToken & { renewAt: number }) | undefined;
  #renewal: SharedWork<void> | undefined;
  #lastFailure: unknown;
  /** The token that the service refused last. A store that could not delete it may still return it. */
  #refused: string | undefined;
  /** The latest write to the store. Until it has ended, the store is not used for anything else, or it could keep the old token. */
  #pendingSave: Promise<unknown> = Promise.resolve();

  constructor(options: TokenManagerOptions) {
    this.#options = options;
  }

  /** The token, unless it is missing or about to expire. */
  get fresh(): string | undefined {
    return this.#token && Date.now() < this.#token.renewAt ? this.#token.accessToken : undefined;
  }

  /** The latest token, even if it has expired. */
  get last(): string | undefined {
    return this.#token?.accessToken;
  }

  /** The error of the latest attempt to request a token; `undefined` if a token has come since. */
  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  /** Waits for a token. The token may be refused or expire before the call has its slot. Then the call waits again. */
  async renew(signal: Abortable): Promise<void> {
    if (!this.#renewal || this.#renewal.isAborted) this.#renewal = new SharedWork((lifetime) => this.#renew(lifetime));
    await this.#renewal.wait(signal);
  }

  /** Drops a token that the service has refused. Only the first report of a token has an effect. */
  drop(refused: string): void {
    if (this.#token?.accessToken !== refused) return;
    this.#token = undefined;
    this.#refused = refused;
  }

  async #renew(lifetime: Lifetime): Promise<void> {
    try {
      const token = await this.#fetch(lifetime.signal);
      // The result of an aborted renewal is dropped, because a later renewal may be in progress.
      if (lifetime.aborted) return;
      this.#token = { ...token, renewAt: renewalTime(token.expiresAt, Date.now()) };
      this.#renewal = this.#refused = this.#lastFailure = undefined;
    } catch (error) {
      if (lifetime.aborted) throw error;
      this.#renewal = undefined;
      this.#keepAfter(error);
    }
  }

  /** Postpones the renewal: the service may be available again before the token expires. Throws if there is no token to use. */
  #keepAfter(error: unknown): void {
    const now = Date.now();
    const areRefused = error instanceof AuthenticationError && refusesCredentials(error.status);
    if (!this.#token || this.#token.expiresAt <= now || areRefused) throw error;
    this.#token.renewAt = renewalTime(this.#token.expiresAt, now);
    this.#options.warn(
      `the token could not be renewed, the client continues to use the current one: ${messageOf(error)}`,
    );
  }

  async #fetch(signal: AbortSignal): Promise<StoredToken> {
    const { store, account, request } = this.#options;
    await untilAborted(signal, this.#pendingSave);
    let hasStoreFailed = false;
    /** Uses the store, unless the store has failed in this renewal: each further action might take as long again. */
    const ask = async <T>(action: string, run: () => Promise<T>): Promise<T | undefined> => {
      if (hasStoreFailed) return undefined;
      const result = await this.#useStore(action, () => inTime(run()), signal);
      hasStoreFailed = result === FAILED;
      return result === FAILED ? undefined : result;
    };
    // The store may still have the refused token, or the present one, which is about to expire.
    const refused = this.#refused;
    const excluded = [refused, this.#token?.accessToken];
    const read = async () => {
      const stored = await ask("get", () => store.get(account));
      if (!isUsable(stored) || excluded.includes(stored.accessToken)) return undefined;
      this.#options.remember(stored.accessToken);
      return stored;
    };
    if (refused !== undefined) await ask("delete", () => store.delete(refused));
    const stored = await read();
    if (stored) return stored;
    const mayLock = store.lock && !hasStoreFailed;
    const unlock = mayLock ? await this.#useStore("lock", () => this.#lock(signal), signal) : undefined;
    try {
      // The previous holder of the lock may have stored a new token, also if this process continues without the lock.
      const storedByOther = mayLock && (await read());
      if (storedByOther) return storedByOther;
      const token = await request(signal, (error) => (this.#lastFailure = error));
      // Not awaited: calls do not wait for the store.
      this.#pendingSave = this.#useStore("set", () => inTime(store.set({ ...token }, account)));
      return token;
    } finally {
      if (typeof unlock === "function") void this.#pendingSave.then(() => this.#useStore("unlock", unlock));
    }
  }

  /** Takes the lock of the store. If no call waits any more by then, releases the lock at once. */
  async #lock(signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
    const unlock = await this.#options.store.lock?.(signal);
    if (unlock && signal.aborted) await this.#useStore("unlock", unlock);
    return unlock;
  }

  /** Runs an action of the store. If it fails, the client continues without its result. */
  async #useStore<T>(action: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T | typeof FAILED> {
    signal?.throwIfAborted();
    try {
      return await (signal ? untilAborted(signal, run()) : run());
    } catch (error) {
      signal?.throwIfAborted();
      this.#options.warn(`the token store failed to ${action}: ${messageOf(error)}`);
      return FAILED;
    }
  }
}

const FAILED = Symbol("the action of the store failed");

/**
 * Returns the result of an action of the store. Rejects if it takes too long. A caller's store may return a value that
 * is no promise.
 */
const inTime = <T>(result: Promise<T>): Promise<T> =>
  race(
    Promise.resolve(result),
    afterMs(STORE_TIMEOUT_MS, () => new Error(`it took longer than ${STORE_TIMEOUT_MS} ms`)),
  );

const isUsable = (token: StoredToken | null | undefined): token is StoredToken =>
  isAccessToken(token?.accessToken) && Number.isFinite(token?.expiresAt) && Number(token?.expiresAt) > Date.now();

const MAX_MARGIN_MS = 60_000;

/** Returns when to request the next token: a minute before it expires, or a tenth of its remaining time if that is less. */
export const renewalTime = (expiresAt: number, now: number): number =>
  expiresAt - Math.min(MAX_MARGIN_MS, (expiresAt - now) / 10);
