import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  AuthenticationError,
  type ClientOptions,
  type InventoryClient,
  RateLimitError,
  ResponseValidationError,
  type StoredToken,
  type TokenStore,
} from "../../src/index.js";
import { type FaultServer, isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { passTime, useLoopTime } from "../support/loop-time.js";
import { connect, errorOf, QUICK, RECEIPT, sleep, startServer, waitUntil, warningLog } from "../support/with-server.js";

const wide = { rateLimit: { requests: 100_000, maxConcurrent: 200 } } as const;
const always = Number.POSITIVE_INFINITY;
const MANY = 100;
const manyCalls = (client: InventoryClient) =>
  Promise.all(Array.from({ length: MANY }, () => client.items.get("BOLT")));

/** Lets stopped time pass, in steps of 100 ms, until a call has ended. */
async function whileTimePasses<T>(call: Promise<T>): Promise<T> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  call.then(end, end);
  while (!hasEnded) {
    await passTime(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return call;
}

beforeEach(useLoopTime);

describe("many calls at once make one token request", () => {
  it.each<[string, (server: FaultServer) => unknown, number]>([
    ["there is no token yet", () => {}, 1],
    ["the token has expired", () => passTime(1_000), 2],
    ["the service has revoked it", (server) => server.service.revokeTokens(), 2],
  ])("when %s", async (_, prepare, tokenRequests) => {
    const server = await startServer();
    server.service.token.expiresIn = 1;
    const client = connect(server, wide);
    if (tokenRequests > 1) await client.items.get("BOLT");
    server.service.token.expiresIn = 3600;
    await prepare(server);
    const before = server.requests.length;
    await manyCalls(client);
    expect(server.tokenRequests).toBe(tokenRequests);
    // No call has sent an expired token.
    if (prepare.length === 0) expect(server.requests).toHaveLength(before + 1 + MANY);
  });

  it("when it is revoked while they are on their way, and their 401s come late", async () => {
    const server = await startServer();
    const client = connect(server, { rateLimit: { requests: 100_000, maxConcurrent: 2_000 } });
    await client.items.get("BOLT");
    const release = server.hold();
    const calls = manyCalls(client);
    await waitUntil(() => server.requests.length > MANY / 2);
    server.service.revokeTokens();
    release();
    await calls;
    expect(server.tokenRequests).toBe(2);
  });
});

describe("a call that is refused with 401", () => {
  it("is retried once with a new token, then fails", async () => {
    const server = await startServer();
    server.plan(faults.status(401), { times: always });
    const error = await errorOf(connect(server, { retry: QUICK }).inventory.receive(RECEIPT));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, path: "/Inventory/Receive", attempts: 2 });
    expect(server.tokenRequests).toBe(2);
  });

  it("is retried with a new token once, also if another failure comes between", async () => {
    const server = await startServer();
    server.plan(faults.status(401)).plan(faults.status(503)).plan(faults.status(401));
    const error = await errorOf(connect(server, { retry: QUICK }).items.get("BOLT"));
    expect(error).toMatchObject({ name: "AuthenticationError", attempts: 3 });
    expect(server.tokenRequests).toBe(2);
  });

  it("is retried also if retries are off", async () => {
    const server = await startServer();
    const client = connect(server, { retry: false });
    await client.items.get("BOLT");
    server.service.revokeTokens();
    expect(await client.items.create({ shortID: "NUT" })).toMatchObject({ shortID: "NUT" });
    expect(server.effects("create")).toBe(1);
  });

  it("in the middle of an iteration loses no record", async () => {
    const server = await startServer();
    for (let count = 0; count < 500; count += 1) server.service.addLot({});
    const client = connect(server, { retry: QUICK });
    const seen = new Set<number>();
    for await (const { recNo } of client.inventory.listLots({ pageSize: 50 }, { readAhead: 3 })) {
      if (seen.size === 75 || seen.size === 375) server.service.revokeTokens();
      seen.add(recNo);
    }
    expect(seen.size).toBe(500);
    expect(server.tokenRequests).toBeLessThanOrEqual(3);
  });
});

describe("a token endpoint", () => {
  it("that does not respond in time receives the request again; then the calls fail, and nothing was sent", async () => {
    const server = await startServer();
    server.plan(faults.hang({ applies: false }), { on: isToken, times: always });
    const client = connect(server, { timeoutMs: 100, retry: { ...QUICK, maxRetries: 1 } });
    const errors = await Promise.all([
      errorOf(client.items.get("BOLT")),
      errorOf(client.items.create({ shortID: "NUT" })),
    ]);
    for (const error of errors) expect(error).toMatchObject({ name: "TimeoutError", clock: "timeoutMs" });
    expect(server.tokenRequests).toBe(2);
    expect(server.effects("create")).toBe(0);
  });

  it.each([
    ["down", faults.dropped()],
    ["failing with 503", faults.status(503)],
  ])("that is %s receives the request again; then calls fail unsent, and the next one asks again", async (_, fault) => {
    const server = await startServer();
    server.plan(fault, { on: isToken, times: 4 });
    const client = connect(server, { retry: QUICK });
    const error = await errorOf(client.inventory.issue(RECEIPT));
    expect(error).toMatchObject({ applied: "no", message: expect.stringMatching(/^POST \/Token: /) });
    expect(server.tokenRequests).toBe(4);
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
  });

  describe("that is down when a token is to be renewed", () => {
    const renewed = async (leftMs: number, plan: Parameters<typeof faults.status>[0]) => {
      const server = await startServer();
      const { warnings, logger } = warningLog();
      const client = connect(server, { retry: QUICK, logger });
      await client.items.get("BOLT");
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 - leftMs });
      server.plan(faults.status(plan), { on: isToken, times: always });
      return { server, client, warnings };
    };

    afterEach(() => void vi.useRealTimers());

    it.each([
      503, 404,
    ])("%i: receives the request again later, and the old token is used while it is valid", async (status) => {
      const { server, client, warnings } = await renewed(40_000, status);
      const calls = Array.from({ length: 10 }, () => client.items.get("BOLT"));
      expect(await Promise.all(calls)).toHaveLength(10);
      const asked = server.tokenRequests;
      await client.items.get("BOLT");
      expect(server.tokenRequests).toBe(asked);
      expect(warnings).toEqual([expect.stringContaining("the token could not be renewed")]);
      vi.setSystemTime(Date.now() + 37_000);
      await client.items.get("BOLT");
      expect(server.tokenRequests).toBeGreaterThan(asked);
      server.clearPlans();
      vi.setSystemTime(Date.now() + 2_800);
      await client.items.get("BOLT");
      expect(server.requests.at(-1)?.authorization).toContain("canary-token-2");
    });

    it.each([
      ["the old token has expired", -1, 503, "ServerError"],
      ["it refuses the credentials", 40_000, 401, "AuthenticationError"],
    ])("makes calls fail when %s", async (_, leftMs, status, name) => {
      const { client } = await renewed(leftMs, status);
      expect(await errorOf(client.items.get("BOLT"))).toMatchObject({ name, path: "/Token" });
    });
  });

  it.each([
    400, 401, 403,
  ])("that refuses the credentials with %i receives one request, however many calls wait", async (status) => {
    const server = await startServer();
    server.plan(faults.status(status), { on: isToken, times: always });
    const client = connect(server, { retry: QUICK });
    const errors = await Promise.all(
      Array.from({ length: 20 }, () => errorOf(client.items.create({ shortID: "NUT" }))),
    );
    for (const error of errors) {
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(error).toMatchObject({ status, method: "POST", path: "/Token", attempts: 1 });
    }
    expect(server.tokenRequests).toBe(1);
    // The failure is not remembered: the credentials may have been corrected meanwhile.
    server.clearPlans();
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
  });

  it("that always responds with 429 makes calls fail with a RateLimitError", async () => {
    const server = await startServer();
    server.plan(faults.rateLimited(), { on: isToken, times: always });
    const client = connect(server, { retry: { ...QUICK, maxRateLimitRetries: 2 } });
    expect(await errorOf(client.items.get("BOLT"))).toBeInstanceOf(RateLimitError);
    expect(server.tokenRequests).toBe(3);
  });

  it.each([
    ["nothing", ""],
    ["HTML", "<html>canary-token-in-html</html>"],
    ["a token that is not a string", '{"access_token":5}'],
    ["an empty token", '{"access_token":""}'],
    ["a token with a line break", '{"access_token":"a\\r\\nx-evil: 1"}'],
    ["a token that is not ASCII", '{"access_token":"tökén"}'],
  ])("that responds with %s is a ResponseValidationError, whatever responseValidation is", async (_, body) => {
    const server = await startServer();
    server.plan(faults.body(body, { applies: false }), { on: isToken, times: always });
    for (const responseValidation of ["error", "warn", "off"] as const) {
      const error = await errorOf(connect(server, { retry: QUICK, responseValidation }).items.get("BOLT"));
      expect(error).toBeInstanceOf(ResponseValidationError);
      expect(String(error)).not.toContain("responseValidation");
      expect(String(error)).not.toContain("canary-token");
    }
    expect(server.tokenRequests).toBe(3);
  });

  it("receives no more requests when no call waits, and receives one again when a call does", async () => {
    const server = await startServer();
    server.plan(faults.hang({ applies: false }), { on: isToken });
    const client = connect(server);
    const controller = new AbortController();
    const failed = errorOf(client.items.get("BOLT", { signal: controller.signal }));
    await waitUntil(() => server.tokenRequests === 1);
    controller.abort();
    await failed;
    expect(client.rateLimit.inFlight).toBe(0);
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
  });

  it("still serves the waiting calls when one of them is aborted", async () => {
    const server = await startServer();
    const release = server.hold();
    const client = connect(server);
    const controller = new AbortController();
    const leaving = errorOf(client.items.get("BOLT", { signal: controller.signal }));
    const staying = client.items.get("BOLT");
    await waitUntil(() => server.tokenRequests === 1);
    controller.abort();
    await leaving;
    release();
    expect(await staying).toMatchObject({ shortID: "BOLT" });
    expect(server.tokenRequests).toBe(1);
  });
});

describe("expires_in", () => {
  it("is the life of the token, in seconds", async () => {
    const server = await startServer();
    server.service.token.expiresIn = 2;
    const client = connect(server);
    await client.items.get("BOLT");
    await client.items.get("BOLT");
    expect(server.tokenRequests).toBe(1);
    await passTime(1_950);
    await client.items.get("BOLT");
    expect(server.tokenRequests).toBe(2);
  });
});

describe("a small limit", () => {
  it.each<[string, ClientOptions["rateLimit"] & object]>([
    ["one request at a time", { maxConcurrent: 1 }],
    ["one request per interval", { requests: 1, intervalMs: 50, reserved: 0 }],
  ])("of %s causes no deadlock between calls and the token request", async (_, rateLimit) => {
    const server = await startServer();
    const client = connect(server, { rateLimit });
    await Promise.all([
      client.items.get("BOLT"),
      client.items.create({ shortID: "NUT" }),
      client.items.list().toArray(),
    ]);
    server.service.revokeTokens();
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
    expect(server.tokenRequests).toBe(2);
  });

  it("that makes each token expire in the queue still admits calls", async () => {
    const server = await startServer();
    server.service.token.expiresIn = 1;
    const client = connect(server, { rateLimit: { requests: 1, intervalMs: 1_200, reserved: 0 } });
    expect(await whileTimePasses(client.items.get("BOLT"))).toMatchObject({ shortID: "BOLT" });
    expect(server.tokenRequests).toBeLessThanOrEqual(3);
  });

  it("sends a call whose token expired in the queue with a new token", async () => {
    const server = await startServer();
    Object.assign(server.service.token, { expiresIn: 1, lifeMs: 1_000 });
    const client = connect(server, { rateLimit: { requests: 4, intervalMs: 1_500, reserved: 0 } });
    await Promise.all([client.items.get("BOLT"), client.items.get("BOLT"), client.items.get("BOLT")]);
    server.service.token.expiresIn = 3600;
    const startedAt = performance.now();
    await whileTimePasses(client.items.get("BOLT"));
    expect(performance.now() - startedAt).toBeGreaterThan(500);
    expect(server.tokenRequests).toBe(2);
    // The old token was not sent.
    expect(server.requests.at(-1)?.authorization).toContain("canary-token-2");
    expect(server.requests).toHaveLength(6);
    // The slot of the call that did not send the old token was returned.
    await passTime(300);
    expect(client.rateLimit.available).toBe(2);
  });
});

function recordingStore(initial?: StoredToken) {
  let stored = initial;
  const calls: string[] = [];
  const store: TokenStore & { calls: string[] } = {
    calls,
    get: async () => {
      calls.push("get");
      return stored;
    },
    set: async (token) => {
      calls.push(`set ${token.accessToken}`);
      stored = token;
    },
    delete: async (stale) => {
      calls.push(`delete ${stale}`);
      if (stored?.accessToken === stale) stored = undefined;
    },
  };
  return store;
}

describe("a token store", () => {
  it("is read first, receives the new token, and is notified of a refused one", async () => {
    const server = await startServer();
    const tokenStore = recordingStore({ accessToken: "canary-token-old", expiresAt: Date.now() + 60_000 });
    await connect(server, { tokenStore }).items.get("BOLT");
    expect(tokenStore.calls).toEqual(["get", "delete canary-token-old", "get", "set canary-token-1-0123456789abcdef"]);
  });

  const failed = new Error("no store");
  const never = () => new Promise<undefined>(() => {});
  const tooLong = "it took longer than 2000 ms";
  it.each<[string, string, Partial<TokenStore>, string]>([
    ["rejects", "get", { get: () => Promise.reject(failed) }, "no store"],
    [
      "throws",
      "get",
      {
        get: () => {
          throw failed;
        },
      },
      "no store",
    ],
    ["rejects", "set", { set: () => Promise.reject(failed) }, "no store"],
    ["rejects", "delete", { delete: () => Promise.reject(failed) }, "no store"],
    ["never settles", "get", { get: never }, tooLong],
    ["never settles", "set", { set: never }, tooLong],
    ["never settles", "delete", { delete: never }, tooLong],
  ])("that %s in %s is ignored, with a warning", async (_, action, broken, problem) => {
    const server = await startServer();
    const { warnings, logger } = warningLog();
    const client = connect(server, { tokenStore: { ...recordingStore(), ...broken }, logger });
    await whileTimePasses(client.items.get("BOLT"));
    server.service.revokeTokens();
    expect(await whileTimePasses(client.items.get("BOLT"))).toMatchObject({ shortID: "BOLT" });
    expect(server.tokenRequests).toBe(2);
    await passTime(2_000);
    expect(new Set(warnings)).toEqual(new Set([`stocklot: the token store failed to ${action}: ${problem}`]));
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a token that is not a string", { accessToken: 5, expiresAt: 1e15 }],
    ["a token that cannot go into a header", { accessToken: "a\r\nx-evil: 1", expiresAt: 1e15 }],
    ["a token without an expiry", { accessToken: "canary-token-endless" }],
    ["an expiry that is not a number", { accessToken: "canary-token-text", expiresAt: "tomorrow" }],
    ["an expired token", { accessToken: "canary-token-expired", expiresAt: 1_000 }],
  ])("that returns %s is not trusted", async (_, stored) => {
    const server = await startServer();
    const client = connect(server, { tokenStore: recordingStore(stored as StoredToken), retry: false });
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
    expect(server.tokenRequests).toBe(1);
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    "get",
    "set",
    "delete",
  ] as const)("whose %s never settles delays neither close() nor totalTimeoutMs", async (name) => {
    const server = await startServer();
    const client = connect(server, { tokenStore: { ...recordingStore(), [name]: never } });
    const first = errorOf(client.items.get("BOLT", { totalTimeoutMs: 100 }));
    await sleep(50);
    server.service.revokeTokens();
    const waiting = errorOf(client.items.get("BOLT"));
    const short = errorOf(client.items.get("BOLT", { totalTimeoutMs: 100 }));
    const startedAt = performance.now();
    await short;
    expect(performance.now() - startedAt).toBeLessThan(400);
    await client.close();
    await Promise.all([first, waiting]);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it("that stores slowly never keeps a token that was replaced meanwhile", async () => {
    const server = await startServer();
    let stored: StoredToken | undefined;
    let delayMs = 300;
    const tokenStore: TokenStore = {
      get: async () => stored,
      async set(token) {
        await sleep(delayMs);
        stored = token;
      },
      async delete(stale) {
        if (stored?.accessToken === stale) stored = undefined;
      },
    };
    const client = connect(server, { tokenStore });
    await client.items.get("BOLT");
    server.service.revokeTokens();
    delayMs = 0;
    await client.items.get("BOLT");
    await passTime(350);
    expect(stored?.accessToken).toContain("canary-token-2");
  });
});

describe("a token store of several processes", () => {
  const ofAnother: StoredToken = { accessToken: "canary-token-of-another", expiresAt: Date.now() + 3_600_000 };

  /** Creates a store with a lock. `another` is a token that another process stores meanwhile. Without `give`, the lock fails. */
  function lockedStore(give?: () => Promise<void>, another?: StoredToken) {
    const { calls, ...store } = recordingStore();
    const unlock = async () => void calls.push("unlock");
    const lock = async () => {
      calls.push("lock");
      if (another) await store.set(another).then(() => calls.pop());
      if (!give) throw new Error("it is stuck");
      await give();
      return unlock;
    };
    return { calls, tokenStore: { ...store, lock: vi.fn<Required<TokenStore>["lock"]>(lock) } };
  }
  const atOnce = () => Promise.resolve();
  const ownToken = "set canary-token-1-0123456789abcdef";

  it.each<[string, ReturnType<typeof lockedStore>, string[], number]>([
    ["is locked until a new token is stored", lockedStore(atOnce), ["get", "lock", "get", ownToken, "unlock"], 1],
    ["is read again under the lock", lockedStore(atOnce, ofAnother), ["get", "lock", "get", "unlock"], 0],
    ["whose lock fails is used without it, with a warning", lockedStore(), ["get", "lock", "get", ownToken], 1],
    ["whose lock fails is read again, too", lockedStore(undefined, ofAnother), ["get", "lock", "get"], 0],
  ])("%s", async (_, { calls, tokenStore }, expected, tokenRequests) => {
    const server = await startServer();
    server.service.tokens.set(ofAnother.accessToken, ofAnother.expiresAt);
    const { warnings, logger } = warningLog();
    await connect(server, { tokenStore, logger }).items.get("BOLT");
    await waitUntil(() => calls.length === expected.length);
    expect(calls).toEqual(expected);
    expect(server.tokenRequests).toBe(tokenRequests);
    expect(warnings).toEqual(
      expected.includes("unlock") ? [] : ["stocklot: the token store failed to lock: it is stuck"],
    );
  });

  it("is unlocked when the token request fails", async () => {
    const server = await startServer();
    server.plan(faults.status(403), { on: isToken });
    const { calls, tokenStore } = lockedStore(atOnce);
    expect(await errorOf(connect(server, { tokenStore }).items.get("BOLT"))).toBeInstanceOf(AuthenticationError);
    await waitUntil(() => calls.at(-1) === "unlock");
  });

  it("is waited for no longer when no call needs a token, and a lock that comes then is released", async () => {
    const server = await startServer();
    let give = () => {};
    const { calls, tokenStore } = lockedStore(() => new Promise((resolve) => (give = resolve)));
    const leave = new AbortController();
    const waiting = errorOf(connect(server, { tokenStore }).items.get("BOLT", { signal: leave.signal }));
    await waitUntil(() => calls.includes("lock"));
    leave.abort("enough");
    expect(await waiting).toBe("enough");
    expect(tokenStore.lock.mock.lastCall?.[0].aborted).toBe(true);
    give();
    await waitUntil(() => calls.at(-1) === "unlock");
    expect(calls).toEqual(["get", "lock", "unlock"]);
    expect(server.requests).toEqual([]);
  });
});
