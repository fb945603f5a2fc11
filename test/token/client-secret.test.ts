import { beforeEach, describe, expect, it, vi } from "vitest";
import { AuthenticationError, ClientClosedError, type ClientOptions, ConfigurationError } from "../../src/index.js";
import { isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { findLeaks } from "../support/leaks.js";
import { useLoopTime } from "../support/loop-time.js";
import { connect, errorOf, QUICK, sleep, startServer, waitUntil } from "../support/with-server.js";

const wide = { rateLimit: { requests: 100_000, maxConcurrent: 200 } } as const;
const secretNumber = (number: number) => `canary-rotated-${number}-0123456789`;
const never = () => new Promise<string>(() => {});

type SecretFunction = Extract<ClientOptions["clientSecret"], () => unknown>;

/** Creates a function that returns a new secret at each call. */
const rotating = () => {
  let calls = 0;
  return vi.fn(() => {
    calls += 1;
    return secretNumber(calls);
  });
};

async function clientWith(clientSecret: SecretFunction, options: ClientOptions = {}) {
  const server = await startServer();
  return { server, client: connect(server, { retry: QUICK, ...options, clientSecret }) };
}

const sentSecrets = (requests: readonly { path: string; body: string }[]) =>
  requests.filter(({ path }) => path === "/Token").map(({ body }) => new URLSearchParams(body).get("client_secret"));

beforeEach(useLoopTime);

describe("a function as clientSecret", () => {
  it.each<[string, (next: () => string) => SecretFunction]>([
    ["sync", (next) => next],
    ["async", (next) => () => sleep(5).then(next)],
  ])("that is %s is called for each token request, and not before", async (_, create) => {
    const clientSecret = vi.fn(create(rotating()));
    const { server, client } = await clientWith(clientSecret);
    expect(clientSecret).not.toHaveBeenCalled();
    await Promise.all(Array.from({ length: 20 }, () => client.items.get("BOLT")));
    server.service.revokeTokens();
    await client.items.get("BOLT");
    expect(sentSecrets(server.requests)).toEqual([secretNumber(1), secretNumber(2)]);
    expect(clientSecret).toHaveBeenCalledTimes(2);
    expect(clientSecret).toHaveBeenCalledWith();
  });

  it("is called again after the service has refused the previous secret, but not for a retry", async () => {
    const { server, client } = await clientWith(rotating());
    server.plan(faults.status(503), { on: isToken }).plan(faults.status(401), { on: isToken });
    expect(await errorOf(client.items.get("BOLT"))).toBeInstanceOf(AuthenticationError);
    expect(await client.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
    expect(sentSecrets(server.requests)).toEqual([1, 1, 2].map(secretNumber));
  });
});

describe("a clientSecret function that returns no secret", () => {
  const cause = new RangeError("the vault is sealed");
  const fail = () => {
    throw cause;
  };
  it.each<[string, () => unknown, string]>([
    ["throws", () => fail(), "threw: the vault is sealed"],
    ["rejects", () => Promise.reject(cause), "threw: the vault is sealed"],
    ["returns an empty string", () => "", "must return a non-empty string, not an empty string"],
    ["resolves with null", async () => null, "must return a non-empty string, not null"],
    ["returns an object", () => ({ secret: "canary-in-an-object" }), "must return a non-empty string, not an object"],
  ])("and %s fails the call with a ConfigurationError, and is not retried", async (_, run, message) => {
    const clientSecret = vi.fn(run) as unknown as SecretFunction;
    const { server, client } = await clientWith(clientSecret);
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ message: `POST /Token: the clientSecret function ${message}` });
    if (message.includes("threw")) expect(error).toHaveProperty("cause", cause);
    expect(clientSecret).toHaveBeenCalledTimes(1);
    expect(server.requests).toEqual([]);
    expect(findLeaks(error, ["canary-in-an-object"])).toEqual([]);
  });

  it("fails all waiting calls, and the next call asks again", async () => {
    const clientSecret = rotating();
    clientSecret.mockImplementationOnce(fail);
    const { client } = await clientWith(clientSecret, wide);
    const errors = await Promise.all(Array.from({ length: 20 }, () => errorOf(client.items.get("BOLT"))));
    expect(errors.every((error) => error instanceof ConfigurationError)).toBe(true);
    expect(String((errors[0] as Error).stack)).toContain("client-secret.test.ts");
    expect(clientSecret).toHaveBeenCalledTimes(1);
    await client.items.get("BOLT");
    expect(clientSecret).toHaveBeenCalledTimes(2);
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
  it.each(["timeoutMs", "totalTimeoutMs"] as const)("fails after %s", async (clock) => {
    const { client, server } = await clientWith(never, { [clock]: 50 });
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toMatchObject({ name: "TimeoutError", clock });
    expect(server.requests).toEqual([]);
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
