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

describe("a token that several processes share", () => {
  test("is asked for under the lock of the store, which is let go of afterwards", async () => {
    const order: string[] = [];
    const { manager, log } = managerWith({
      lock: async () => async () => void order.push("unlocked"),
      set: async () => void order.push("set"),
    });
    await manager.renew(new AbortController().signal);
    expect(log).toEqual(["get", "lock", "get", "request", "set"]);
    await waitUntil(() => order.length >= 2);
    expect(order).toEqual(["set", "unlocked"]);
  });

  test("is not asked for when another process got one meanwhile", async () => {
    const tokens = [undefined, token("of-another")];
    let unlocked = false;
    const { manager, log } = managerWith({
      get: async () => tokens.shift(),
      lock: async () => async () => {
        unlocked = true;
      },
    });
    await manager.renew(new AbortController().signal);
    expect(log).toEqual(["get", "lock", "get"]);
    expect(manager.fresh).toBe("of-another");
    expect(unlocked).toBe(true);
  });

  test("is asked for without the lock, with a warning, where the lock fails", async () => {
    const { manager, log } = managerWith({ lock: () => Promise.reject(new Error("Redis is away")) });
    await manager.renew(new AbortController().signal);
    expect(log).toEqual([
      "get",
      "lock",
      "warning: the token store failed to lock: Redis is away",
      "get",
      "request",
      "set",
    ]);
  });

  test("is not requested without the lock if another process has stored one meanwhile", async () => {
    const tokens = [undefined, token("of-another")];
    const { manager, log } = managerWith({
      get: async () => tokens.shift(),
      lock: () => Promise.reject(new Error("it is stuck")),
    });
    await manager.renew(new AbortController().signal);
    expect(log).toEqual(["get", "lock", "warning: the token store failed to lock: it is stuck", "get"]);
    expect(manager.fresh).toBe("of-another");
  });

  test("releases the lock when the token request fails", async () => {
    let unlocked = false;
    const lock = async () => async () => {
      unlocked = true;
    };
    const { manager } = managerWith({ lock }, () => Promise.reject(new Error("refused")));
    await expect(manager.renew(new AbortController().signal)).rejects.toThrow("refused");
    expect(unlocked).toBe(true);
  });

  test("is waited for no longer when no call needs it any more", async () => {
    let signal: AbortSignal | undefined;
    const { manager, log } = managerWith({
      lock: (given) => {
        signal = given;
        return new Promise((_, reject) => given.addEventListener("abort", () => reject(given.reason)));
      },
    });
    const leave = new AbortController();
    const waiting = manager.renew(leave.signal).catch(() => "ended");
    await new Promise((resolve) => setTimeout(resolve, 10));
    leave.abort("enough");
    expect(await waiting).toBe("ended");
    expect(signal?.aborted).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(log).toEqual(["get", "lock"]);
  });

  test("keeps no lock that comes after no call needs it any more", async () => {
    let unlocked = false;
    let give = (_unlock: () => Promise<void>) => {};
    const { manager, log } = managerWith({ lock: () => new Promise((resolve) => (give = resolve)) });
    const leave = new AbortController();
    const waiting = manager.renew(leave.signal).catch(() => "ended");
    await new Promise((resolve) => setTimeout(resolve, 10));
    leave.abort("enough");
    await waiting;
    give(async () => {
      unlocked = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(unlocked).toBe(true);
    expect(log).toEqual(["get", "lock"]);
  });
});
