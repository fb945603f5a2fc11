import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  AuthenticationError,
  ClientClosedError,
  type ClientOptions,
  ConfigurationError,
  type StoredToken,
  TimeoutError,
} from "../../src/index.js";
import { isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { findLeaks } from "../support/leaks.js";
import { passTime, useLoopTime } from "../support/loop-time.js";
import { connect, errorOf, sleep, startServer, waitUntil } from "../support/with-server.js";

const quick = { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [5, 6] } as const;
const wide = { rateLimit: { requests: 100_000, maxConcurrent: 200 } } as const;
const secretNumber = (number: number) => `canary-rotated-${number}-0123456789`;
const never = () => new Promise<string>(() => {});

type SecretFunction = Extract<ClientOptions["clientSecret"], () => unknown>;

/** A function that returns another secret each time. */
const rotating = () => {
  let calls = 0;
  return vi.fn(() => {
    calls += 1;
    return secretNumber(calls);
  });
};

async function clientWith(clientSecret: SecretFunction, options: ClientOptions = {}) {
  const server = await startServer();
  return { server, client: connect(server, { retry: quick, ...options, clientSecret }) };
}

const sentSecrets = (requests: readonly { path: string; body: string }[]) =>
  requests.filter(({ path }) => path === "/Token").map(({ body }) => new URLSearchParams(body).get("client_secret"));

beforeEach(useLoopTime);

describe("a function as clientSecret", () => {
  it.each<[string, () => SecretFunction]>([
    ["sync", () => rotating()],
    [
      "async",
      () => {
        const next = rotating();
        return async () => {
          await sleep(5);
          return next();
        };
      },
    ],
  ])("that is %s is called for each token request, and not before", async (_, create) => {
    const clientSecret = vi.fn(create());
    const { server, client } = await clientWith(clientSecret);
    expect(clientSecret).not.toHaveBeenCalled();
    await client.items.get("BOLT");
    await client.items.get("BOLT");
    server.service.revokeTokens();
    await client.items.get("BOLT");
    expect(sentSecrets(server.requests)).toEqual([secretNumber(1), secretNumber(2)]);
    expect(clientSecret).toHaveBeenCalledTimes(2);
    expect(clientSecret).toHaveBeenCalledWith();
  });

  it("is called once for a thousand calls at once", async () => {
    const clientSecret = rotating();
    const { server, client } = await clientWith(clientSecret, wide);
    await Promise.all(Array.from({ length: 1_000 }, () => client.items.get("BOLT")));
    expect(clientSecret).toHaveBeenCalledTimes(1);
    expect(server.tokenRequests).toBe(1);
  });

  it("is called again after the service has refused the previous secret", async () => {
    const clientSecret = rotating();
    const { server, client } = await clientWith(clientSecret);
    server.plan(faults.status(401), { on: isToken });
    expect(await errorOf(client.items.get("BOLT"))).toBeInstanceOf(AuthenticationError);
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
    expect(sentSecrets(server.requests)).toEqual([secretNumber(1), secretNumber(2)]);
  });

  it("is not called again for a retry of the same token request", async () => {
    const clientSecret = rotating();
    const { server, client } = await clientWith(clientSecret);
    server.plan(faults.status(503), { on: isToken });
    await client.items.get("BOLT");
    expect(sentSecrets(server.requests)).toEqual([secretNumber(1), secretNumber(1)]);
  });

  it("has precedence over the environment", async () => {
    vi.stubEnv("STOCKLOT_CLIENT_SECRET", "canary-of-the-environment");
    const { server, client } = await clientWith(rotating());
    await client.items.get("BOLT");
    expect(sentSecrets(server.requests)).toEqual([secretNumber(1)]);
    vi.unstubAllEnvs();
  });

  it("is not called if the token store has a token", async () => {
    const clientSecret = rotating();
    const token: StoredToken = { accessToken: "stored-token-0123456789", expiresAt: Date.now() + 60_000 };
    const tokenStore = { get: async () => token, set: async () => {}, delete: async () => {} };
    const { server, client } = await clientWith(clientSecret, { tokenStore });
    server.service.tokens.set(token.accessToken, token.expiresAt);
    await client.items.get("BOLT");
    expect(clientSecret).not.toHaveBeenCalled();
  });

  it("returns secrets that are visible nowhere, the last ones included", async () => {
    const recorded: unknown[] = [];
    const note = (value: unknown) => void recorded.push(value);
    const { server, client } = await clientWith(rotating(), {
      logger: { debug: note, info: note, warn: note, error: note },
      hooks: { request: note, response: note, retry: note, token: note },
    });
    const secrets = Array.from({ length: 5 }, (_, index) => secretNumber(index + 1));
    for (let count = 0; count < 5; count += 1) {
      server.service.revokeTokens();
      await client.items.get("BOLT");
    }
    server.plan(faults.status(400, { message: `refused: ${secrets.join(" ")}` }));
    recorded.push(await errorOf(client.items.get("BOLT")), client);
    expect(sentSecrets(server.requests)).toEqual(secrets);
    expect(findLeaks(recorded, secrets)).toEqual([]);
  });
});

describe("a clientSecret function that returns no secret", () => {
  const cause = new RangeError("the vault is sealed");
  it.each<[string, () => unknown, string]>([
    [
      "throws",
      () => {
        throw cause;
      },
      "the clientSecret function threw: the vault is sealed",
    ],
    ["rejects", () => Promise.reject(cause), "the clientSecret function threw: the vault is sealed"],
    [
      "returns an empty string",
      () => "",
      "the clientSecret function must return a non-empty string, not an empty string",
    ],
    ["returns undefined", () => undefined, "the clientSecret function must return a non-empty string, not undefined"],
    ["resolves with null", async () => null, "the clientSecret function must return a non-empty string, not null"],
    [
      "returns an object",
      () => ({ secret: "canary-in-an-object" }),
      "the clientSecret function must return a non-empty string, not an object",
    ],
  ])("and %s fails the call with a ConfigurationError, and is not retried", async (_, run, message) => {
    const clientSecret = vi.fn(run) as unknown as SecretFunction;
    const { server, client } = await clientWith(clientSecret);
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ message: `POST /Token: ${message}` });
    if (message.includes("threw")) expect(error).toHaveProperty("cause", cause);
    expect(clientSecret).toHaveBeenCalledTimes(1);
    expect(server.requests).toEqual([]);
    expect(findLeaks(error, ["canary-in-an-object"])).toEqual([]);
  });

  it("fails all waiting calls, and the next call asks again", async () => {
    const clientSecret = rotating();
    clientSecret.mockImplementationOnce(() => {
      throw cause;
    });
    const { client } = await clientWith(clientSecret, wide);
    const errors = await Promise.all(Array.from({ length: 20 }, () => errorOf(client.items.get("BOLT"))));
    expect(errors.every((error) => error instanceof ConfigurationError)).toBe(true);
    expect(String((errors[0] as Error).stack)).toContain("client-secret.test.ts");
    expect(clientSecret).toHaveBeenCalledTimes(1);
    await client.items.get("BOLT");
    expect(clientSecret).toHaveBeenCalledTimes(2);
  });

  it("leaves the current token in use as long as it is valid", async () => {
    const clientSecret = rotating();
    const warnings: string[] = [];
    const log = () => {};
    const logger = { debug: log, info: log, warn: (line: string) => void warnings.push(line), error: log };
    const { server, client } = await clientWith(clientSecret, { logger });
    server.service.token.expiresIn = 2;
    await client.items.get("BOLT");
    await passTime(1_850);
    clientSecret.mockImplementation(() => {
      throw cause;
    });
    await client.items.get("BOLT");
    expect(clientSecret).toHaveBeenCalledTimes(2);
    expect(warnings.join()).toMatch(/could not be renewed.*the vault is sealed/);
  });

  it("does not show what it throws if that shows a secret", async () => {
    let calls = 0;
    const { client, server } = await clientWith(() => {
      calls += 1;
      if (calls > 1) throw new Error(`cannot replace ${secretNumber(calls - 1)}`);
      return secretNumber(calls);
    });
    await client.items.get("BOLT");
    server.service.revokeTokens();
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(findLeaks(error, [secretNumber(1)])).toEqual([]);
  });
});

describe("a clientSecret function that hangs", () => {
  it("fails after timeoutMs", async () => {
    const { client, server } = await clientWith(never, { timeoutMs: 50 });
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({
      clock: "timeoutMs",
      message: "POST /Token: the clientSecret function returned nothing within timeoutMs (50 ms)",
    });
    expect(server.requests).toEqual([]);
  });

  it("counts against totalTimeoutMs", async () => {
    const { client } = await clientWith(never);
    const startedAt = performance.now();
    const error = await errorOf(client.items.get("BOLT", { totalTimeoutMs: 60 }));
    expect(error).toMatchObject({ name: "TimeoutError", clock: "totalTimeoutMs" });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it("can be aborted; a later call asks again, and a late secret changes nothing", async () => {
    const clientSecret = rotating();
    const late = withResolvers<string>();
    clientSecret.mockImplementationOnce(() => late.promise as unknown as string);
    const { client, server } = await clientWith(clientSecret);
    const controller = new AbortController();
    const waiting = errorOf(client.items.get("BOLT", { signal: controller.signal }));
    await waitUntil(() => clientSecret.mock.calls.length === 1);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    await client.items.get("BOLT");
    late.resolve("canary-that-came-late");
    await client.items.get("BOLT");
    expect(sentSecrets(server.requests)).toEqual([secretNumber(1)]);
  });

  it("does not keep a client from closing", async () => {
    const { client } = await clientWith(never);
    const waiting = errorOf(client.items.get("BOLT"));
    await sleep(10);
    await client.close();
    expect(await waiting).toBeInstanceOf(ClientClosedError);
  });
});

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
