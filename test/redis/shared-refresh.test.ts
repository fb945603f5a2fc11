import { describe, expect, test } from "vitest";
import { TokenManager } from "../../src/client/auth/token-manager.js";
import type { StoredToken, TokenStore } from "../../src/client/auth/token-store.js";
import { waitUntil } from "../support/with-server.js";

const token = (accessToken: string): StoredToken => ({ accessToken, expiresAt: Date.now() + 3_600_000 });

/** A manager, and a note of everything it did, in order. */
function managerWith(store: Partial<TokenStore>, request = async () => token("from-the-service")) {
  const log: string[] = [];
  const noted = <T>(name: string, run: () => Promise<T>) => {
    log.push(name);
    return run();
  };
  const manager = new TokenManager({
    store: {
      get: () => noted("get", store.get ?? (async () => undefined)),
      set: (stored) => noted("set", async () => store.set?.(stored)),
      delete: (stale) => noted("delete", async () => store.delete?.(stale)),
      ...(store.lock && { lock: (signal) => noted("lock", async () => store.lock?.(signal) ?? (async () => {})) }),
    },
    account: "an account",
    request: () => noted("request", request),
    warn: (message) => void log.push(`warning: ${message}`),
  });
  return { manager, log };
}

const failing = (message: string) => () => Promise.reject(new Error(message));
const soon = () => new Promise((resolve) => setTimeout(resolve, 10));

describe("a token that several processes share", () => {
  /** A lock, and whether it was released. */
  const lockOf = () => {
    const state = { isUnlocked: false };
    const unlock = async () => {
      state.isUnlocked = true;
    };
    return { state, unlock, lock: async () => unlock };
  };

  test("is requested under the lock of the store, which is released after it was stored", async () => {
    const { state, lock } = lockOf();
    const wasUnlocked: boolean[] = [];
    const { manager, log } = managerWith({ lock, set: async () => void wasUnlocked.push(state.isUnlocked) });
    await manager.renew(new AbortController().signal);
    expect(log).toEqual(["get", "lock", "get", "request", "set"]);
    await waitUntil(() => state.isUnlocked);
    expect(wasUnlocked).toEqual([false]);
  });

  test.each<[string, boolean, boolean, string[]]>([
    ["is not requested when another process got one meanwhile", true, true, []],
    ["is requested without the lock, with a warning, where the lock fails", false, false, ["request", "set"]],
    ["is not requested without the lock if another process has stored one meanwhile", false, true, []],
  ])("%s", async (_, hasLock, isStored, rest) => {
    const { state, lock } = lockOf();
    const tokens = [undefined, isStored ? token("of-another") : undefined];
    const get = async () => tokens.shift();
    const { manager, log } = managerWith({ get, lock: hasLock ? lock : failing("it is stuck") });
    await manager.renew(new AbortController().signal);
    const warning = hasLock ? [] : ["warning: the token store failed to lock: it is stuck"];
    expect(log).toEqual(["get", "lock", ...warning, "get", ...rest]);
    if (isStored) expect(manager.fresh).toBe("of-another");
    expect(state.isUnlocked).toBe(hasLock);
  });

  test("releases the lock when the token request fails", async () => {
    const { state, lock } = lockOf();
    const { manager } = managerWith({ lock }, failing("refused"));
    await expect(manager.renew(new AbortController().signal)).rejects.toThrow("refused");
    expect(state.isUnlocked).toBe(true);
  });

  test("is waited for no longer when no call needs it any more, and a lock that comes then is released", async () => {
    const { state, unlock } = lockOf();
    let give = (_unlock: () => Promise<void>) => {};
    let signal: AbortSignal | undefined;
    const { manager, log } = managerWith({
      lock: (given) => {
        signal = given;
        return new Promise((resolve) => (give = resolve));
      },
    });
    const leave = new AbortController();
    const waiting = manager.renew(leave.signal).catch(() => "ended");
    await soon();
    leave.abort("enough");
    expect(await waiting).toBe("ended");
    expect(signal?.aborted).toBe(true);
    give(unlock);
    await soon();
    expect(state.isUnlocked).toBe(true);
    expect(log).toEqual(["get", "lock"]);
  });
});
