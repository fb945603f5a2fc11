import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, ConfigurationError, createRateLimiter, InventoryClient } from "../../src/index.js";

const given = { baseUrl: "https://inventory.test/api/v1", clientId: "id", clientSecret: "canary-secret" };

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const refusal = (options: object): string => {
  try {
    new InventoryClient(options as ClientOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return String(error);
  }
  return "it was taken";
};

describe("client options that are refused", () => {
  it.each<[what: string, options: object, message: RegExp]>([
    [
      "fetch with dispatcher",
      { fetch, dispatcher: { dispatch: () => true } },
      /fetch and dispatcher cannot be combined/,
    ],
    [
      "a dispatcher of undici 6",
      { dispatcher: { dispatch: () => true, interceptors: [] } },
      /: dispatcher: is of undici 6 or earlier\. Use one of undici 7 or 8$/,
    ],
    [
      "the secret as a name too",
      { clientSecret: "canary-9", "canary-9": 1 },
      /: unknown option\. Its name is not shown/,
    ],
    ["a long secret as a name", { [`canary${"0123456789".repeat(4)}`]: 1 }, /: unknown option\. Its name is not shown/],
    ["rateLimit with rateLimiter", { rateLimit: {}, rateLimiter: createRateLimiter() }, /rateLimit and rateLimiter/],
    ["a back-off of 0", { retry: { minDelayMs: 0 } }, /retry/],
    ["a pause that ends before it begins", { retry: { rateLimitDelayMs: [5, 1] } }, /retry/],
    ["a limiter of the caller's own making", { rateLimiter: {} }, /rateLimiter/],
    ["a token store without delete", { tokenStore: { get: () => {}, set: () => {} } }, /tokenStore/],
    ["a logger without warn", { logger: { info: () => {} } }, /logger/],
    [
      "plain http to another host",
      { baseUrl: "http://inventory.test/api/v1" },
      /baseUrl must begin with https:.*allowInsecureHttp/,
    ],
    ["another scheme", { baseUrl: "ftp://inventory.test" }, /baseUrl must begin with http: or https:, not ftp:$/],
    ["credentials in the address", { baseUrl: "https://u:canary-pass@inventory.test" }, /credentials/],
    ["a query in the address", { baseUrl: "https://inventory.test/?a=b" }, /query/],
  ])("%s", (_, options, message) => {
    const shown = refusal({ ...given, ...options });
    expect(shown).toMatch(message);
    expect(shown).not.toContain("canary");
  });
});

describe("the message about a wrong option", () => {
  it.each<[options: object, message: string]>([
    [{ baseURL: "https://inventory.test" }, 'baseURL: unknown option, did you mean "baseUrl"?'],
    [{ hooks: { onRequest: () => {} } }, 'hooks: unknown hook onRequest, did you mean "request"?'],
    [{ retry: { retries: 5 } }, 'retry.retries: unknown option, did you mean "maxRetries"?'],
    [{ retries2: 5 }, 'retries2: unknown option, did you mean "retry"?'],
    [{ time_out_ms: 5 }, 'time_out_ms: unknown option, did you mean "timeoutMs"?'],
    [{ "base-url": "x" }, 'base-url: unknown option, did you mean "baseUrl"?'],
    [{ http2: true }, "http2: unknown option"],
    [{ "x-api-key": "x" }, "x-api-key: unknown option"],
    [{ max_sockets: 1, keep_alive: 1 }, "max_sockets: unknown option; keep_alive: unknown option"],
    [{ "größe.π 1": 1 }, "größe.π 1: unknown option"],
    [{ ["x".repeat(40)]: 1 }, `${"x".repeat(40)}: unknown option`],
    [{ timeoutMs: "canary-secret" }, "timeoutMs: must be a number of ms greater than 0"],
  ])("%o", (options, message) => {
    expect(refusal({ ...given, ...options })).toBe(`ConfigurationError: client options: ${message}`);
  });
});

describe("client options that are taken", () => {
  it.each<[string, ClientOptions]>([
    ["infinite times", { timeoutMs: Infinity, totalTimeoutMs: Infinity, rateLimit: { requests: Infinity } }],
    ["undefined ones", { timeoutMs: undefined, rateLimit: undefined, rateLimiter: undefined, fetch: undefined }],
    ["loopback without encryption", { baseUrl: "http://127.0.0.1:1/api/v1" }],
    ["localhost", { baseUrl: "http://localhost/api/v1" }],
    ["IPv6 loopback", { baseUrl: "http://[::1]/api/v1" }],
    ["plain http where it is allowed", { baseUrl: "http://inventory.test/api/v1", allowInsecureHttp: true }],
    ["false for limits", { rateLimit: false, retry: false }],
  ])("%s", (_, options) => {
    expect(() => new InventoryClient({ ...given, ...options })).not.toThrow();
  });
});

describe("address and credentials", () => {
  it("come from the environment without the line break at their end, as a file of a secret has one", async () => {
    const sent: string[] = [];
    const fetch = async (url: string, init: RequestInit) => {
      sent.push(`${url} ${init.body}`);
      return Response.json({}, { status: 401 });
    };
    vi.stubEnv("STOCKLOT_BASE_URL", "https://inventory.test/api/v1/\n");
    vi.stubEnv("STOCKLOT_CLIENT_ID", "id\r\n");
    vi.stubEnv("STOCKLOT_CLIENT_SECRET", "canary-secret\n");
    await new InventoryClient({ fetch }).items.get("X").catch(() => {});
    expect(sent).toEqual([
      "https://inventory.test/api/v1/Token grant_type=client_credentials&client_id=id&client_secret=canary-secret",
    ]);
  });

  it("are all named when they are missing", () => {
    for (const name of ["STOCKLOT_BASE_URL", "STOCKLOT_CLIENT_ID", "STOCKLOT_CLIENT_SECRET"]) vi.stubEnv(name, "");
    expect(refusal({})).toMatch(/STOCKLOT_BASE_URL.*STOCKLOT_CLIENT_ID.*STOCKLOT_CLIENT_SECRET/);
  });
});

it("the snapshot shows the limit that was asked for", () => {
  const used = { available: 100, queued: 0, inFlight: 0, pausedUntil: null };
  expect(new InventoryClient(given).rateLimit).toEqual({ limit: 100, intervalMs: 60_000, reserved: 10, ...used });
  expect(new InventoryClient({ ...given, rateLimit: false }).rateLimit.limit).toBe(Infinity);
});

describe("headers that are refused", () => {
  it.each(["Authorization", "host", "transfer-encoding"])("%s", (name) => {
    expect(refusal({ ...given, headers: { [name]: "canary" } })).toBe(
      `ConfigurationError: client options: headers.${name}: cannot be set, since the client sets it`,
    );
  });

  it.each<[what: string, headers: unknown, message: string]>([
    ["a name with a space", { "x trace": "canary" }, "headers.x trace: is not a valid header name"],
    [
      "a line break in a value",
      { "x-key": "canary\r\nx: y" },
      "headers.x-key: must not contain line breaks, control characters, or characters outside Latin-1",
    ],
    ["a value that is no string", { "x-key": 5 }, "headers.x-key: Invalid input: expected string, received number"],
    [
      "a Headers object",
      new Headers({ "x-key": "canary" }),
      "headers: Invalid input: expected record, received Headers",
    ],
  ])("%s", (_, headers, message) => {
    expect(refusal({ ...given, headers })).toBe(`ConfigurationError: client options: ${message}`);
  });
});

/** Creates a client in a runtime that reports these versions. */
function clientOn(versions: Record<string, string>, options: ClientOptions = {}): InventoryClient {
  const stub = { value: { node: "20.19.0", ...versions } };
  vi.stubGlobal("process", Object.create(process, { versions: stub }));
  return new InventoryClient({ ...given, ...options });
}

describe("a client in a runtime", () => {
  it.each(["20.19.0", "26.0.0"])("can be created on Node.js %s", (node) => {
    expect(clientOn({ node })).toBeInstanceOf(InventoryClient);
  });

  it.each(["18.20.4", "20.18.3"])("is a ConfigurationError on Node.js %s", (node) => {
    expect(() => clientOn({ node })).toThrow(ConfigurationError);
    expect(() => clientOn({ node })).toThrow(new RegExp(`requires Node\\.js 20\\.19 or later.* this is ${node}`));
  });

  it.each(["bun", "deno"])("can be created on %s, whatever Node.js it says it is", (name) => {
    expect(clientOn({ node: "18.0.0", [name]: "1.2.0" })).toBeInstanceOf(InventoryClient);
  });

  it("can be created at module level on Workers, which allow no AbortController there", () => {
    vi.stubGlobal(
      "AbortController",
      class {
        constructor() {
          throw new Error("not allowed in global scope");
        }
      },
    );
    expect(clientOn({ node: "22.0.0" }, { fetch: globalThis.fetch })).toBeInstanceOf(InventoryClient);
  });
});
