import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTokenManager } from "../../src/client/auth/token-manager.js";
import { createMemoryTokenStore, type TokenStore } from "../../src/client/auth/token-store.js";
import { CallCancellation } from "../../src/shared/time/cancellation.js";

const token = (accessToken: string) => ({ accessToken, expiresAt: Date.now() + 3_600_000 });

/** A token request that the service has not responded to. */
function pendingRequests(store: TokenStore = createMemoryTokenStore()) {
  const requests: PromiseWithResolvers[] = [];
  const manager = createTokenManager({
    store,
    account: "an account",
    request: () =>
      new Promise((resolve, reject) => {
        requests.push({ resolve, reject });
      }),
    errorOf: (error) => error,
    warn: () => {},
  });
  return { manager, requests };
}

interface PromiseWithResolvers {
  resolve(value: ReturnType<typeof token>): void;
  reject(error: Error): void;
}

describe("a token request that no call waits for any more", () => {
  /** One call gives up, another one begins a request of its own. */
  async function oneCanceled() {
    const { manager, requests } = pendingRequests();
    const first = new CallCancellation();
    const canceled = manager.ensureToken(first).catch(() => "canceled");
    await expect.poll(() => requests.length).toBe(1);
    first.cancel({ kind: "aborted", reason: new Error("gone") });
    expect(await canceled).toBe("canceled");
    const second = manager.ensureToken(new CallCancellation());
    await expect.poll(() => requests.length).toBe(2);
    return { manager, requests, second };
  }

  it("does not end the request of a later call when it fails late", async () => {
    const { manager, requests, second } = await oneCanceled();
    requests[0]?.reject(new Error("late"));
    await new Promise(setImmediate);
    const third = manager.ensureToken(new CallCancellation());
    await new Promise(setImmediate);
    expect(requests).toHaveLength(2);
    requests[1]?.resolve(token("new"));
    await Promise.all([second, third]);
    expect(manager.freshToken).toBe("new");
  });

  it("does not replace the token of a later call when it succeeds late", async () => {
    const { manager, requests, second } = await oneCanceled();
    requests[1]?.resolve(token("new"));
    await second;
    requests[0]?.resolve(token("old"));
    await new Promise(setImmediate);
    expect(manager.freshToken).toBe("new");
  });
});

describe("a renewal that fails", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** A call waits for the renewal of a token that expires in half a minute. */
  async function oneWaiting() {
    const { manager, requests } = pendingRequests();
    const first = manager.ensureToken(new CallCancellation());
    await expect.poll(() => requests.length).toBe(1);
    requests[0]?.resolve(token("current"));
    await first;
    vi.setSystemTime(Date.now() + 3_570_000);
    const waiting = manager.ensureToken(new CallCancellation()).catch((error: unknown) => error);
    await expect.poll(() => requests.length).toBe(2);
    return { manager, requests, waiting };
  }

  it("leaves the current token to the calls that wait, for a part of its time", async () => {
    const { manager, requests, waiting } = await oneWaiting();
    requests[1]?.reject(new Error("unavailable"));
    expect(await waiting).toBeUndefined();
    expect(manager.freshToken).toBe("current");
    vi.setSystemTime(Date.now() + 28_000);
    expect(manager.freshToken).toBeUndefined();
  });

  it("fails the calls that wait if the service has refused the current token meanwhile", async () => {
    const { manager, requests, waiting } = await oneWaiting();
    manager.invalidate("current");
    const failure = new Error("unavailable");
    requests[1]?.reject(failure);
    expect(await waiting).toBe(failure);
    expect(manager.lastToken).toBeUndefined();
  });
});

it("a store that still saves a token receives no other command", async () => {
  const commands: string[] = [];
  let saved = () => {};
  const { manager, requests } = pendingRequests({
    get: async () => void commands.push("get"),
    set: (token) => {
      commands.push(`set ${token.accessToken}`);
      return new Promise((resolve) => (saved = resolve));
    },
    delete: async (refused) => void commands.push(`delete ${refused}`),
  });
  const first = manager.ensureToken(new CallCancellation());
  await expect.poll(() => requests.length).toBe(1);
  requests[0]?.resolve(token("old"));
  await first;
  manager.invalidate("old");
  const second = manager.ensureToken(new CallCancellation());
  await new Promise(setImmediate);
  expect(commands).toEqual(["get", "set old"]);
  saved();
  await expect.poll(() => requests.length).toBe(2);
  requests[1]?.resolve(token("new"));
  await second;
  expect(commands).toEqual(["get", "set old", "delete old", "get", "set new"]);
});
