import dns from "node:dns";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { Agent } from "undici";
import { afterAll, afterEach, describe, expect, it, type MockInstance, onTestFinished, vi } from "vitest";
import {
  ApiError,
  type ClientOptions,
  ConnectionError,
  type InventoryClient,
  OutcomeUnknownError,
  ServerError,
} from "../../src/index.js";
import { createCertificates } from "../support/certificates.js";
import { ITEM } from "../support/records.js";
import { connect, errorOf, fetchThrough, QUICK, RECEIPT, storedToken, TRANSPORTS } from "../support/with-server.js";
import { clientOf, listen, listenOn, listenRaw } from "./server.js";

const certificates = createCertificates();
afterAll(() => certificates.remove());
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

/** Options with a stored token, so that the first request is the write. */
const withToken: ClientOptions = { retry: { ...QUICK, maxRetries: 2 }, tokenStore: storedToken };

/** Returns client options for each transport, with the same settings for connections. */
const overBoth = (connectOptions: Agent.Options["connect"] = {}): [string, () => ClientOptions][] => {
  const agentOf = () => {
    const dispatcher = new Agent({ connect: connectOptions ?? {} });
    onTestFinished(() => dispatcher.destroy());
    return dispatcher;
  };
  return [
    ["undici", () => ({ ...withToken, dispatcher: agentOf() })],
    [
      "fetch",
      () => {
        return { ...withToken, fetch: fetchThrough(agentOf()) };
      },
    ],
  ];
};

async function listenTls(options: TlsOptions, respond: (socket: Socket) => void = () => {}) {
  let connections = 0;
  const server = createTlsServer(options, respond);
  server.on("connection", () => (connections += 1));
  server.on("tlsClientError", () => {});
  const port = await listenOn(server, "localhost");
  return { baseUrl: `https://localhost:${port}/api/v1`, connections: () => connections };
}

/** Makes a call whose request is not sent. With fetch it is a read, because a write would be an OutcomeUnknownError. */
const failureBeforeSending = (transport: string, client: InventoryClient) =>
  errorOf(transport === "undici" ? client.inventory.receive(RECEIPT) : client.items.get("X"));

const TOKEN = { access_token: "canary-token-0123456789", token_type: "bearer", expires_in: 3_600 };

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

describe.each(overBoth({ ca: certificates.authority }))("over %s, a certificate", (transport, options) => {
  it.each([
    ["that is self-signed", certificates.selfSigned, /self-signed certificate.*NODE_EXTRA_CA_CERTS.*dispatcher/],
    ["that has expired", certificates.expired, /certificate has expired.*dispatcher/],
    ["for another host", certificates.otherHost, /certificate was refused.*other\.test/],
  ])("%s is a ConnectionError, and is not retried", async (_, identity, expected) => {
    const server = await listenTls({ ...identity });
    const client = connect({ baseUrl: server.baseUrl }, options());
    const error = await failureBeforeSending(transport, client);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(/^\w+ \S+: [^\n]*, 1 attempt \([^\n]*\)\.[^\n]*$/);
    if (transport === "undici") expect(messageOf(error)).toContain("nothing was sent");
    expect(messageOf(error)).toMatch(expected);
    expect(server.connections()).toBe(1);
  });

  it.each([
    // A fetch function does not say what it sent. In TLS 1.3, a client may send before the server has checked its certificate.
    ["TLSv1.2", transport === "fetch" ? OutcomeUnknownError : ConnectionError, /TLS failed|the connection broke/],
    ["TLSv1.3", OutcomeUnknownError, /the connection broke/],
  ] as const)("that a server of %s requires from the client, and does not get, leaves the outcome of a write unknown", async (maxVersion, ErrorClass, message) => {
    const strict = { ca: certificates.authority, requestCert: true, rejectUnauthorized: true, maxVersion };
    const server = await listenTls({ ...certificates.good, ...strict });
    const error = await errorOf(connect({ baseUrl: server.baseUrl }, options()).inventory.receive(RECEIPT));
    expect(error).toBeInstanceOf(ErrorClass);
    expect(messageOf(error)).toMatch(message);
  });

  it("that is valid is accepted", async () => {
    const body = JSON.stringify(ITEM);
    const server = await listenTls(certificates.good, (socket) =>
      socket.once("data", () =>
        socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
      ),
    );
    expect(await connect({ baseUrl: server.baseUrl }, options()).items.get("X")).toEqual(ITEM);
  });
});

describe.each(overBoth())("over %s,", (transport, options) => {
  it("an error for a certificate of an unknown authority names the solution", async () => {
    const server = await listenTls(certificates.good);
    const error = await failureBeforeSending(transport, connect({ baseUrl: server.baseUrl }, options()));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(/UNABLE_TO_VERIFY_LEAF_SIGNATURE.*NODE_EXTRA_CA_CERTS/);
    expect(server.connections()).toBe(1);
  });

  it("https to an http port is reported in one line, and is not retried", async () => {
    const { client, origin, requests } = await clientOf((_, response) => response.end("{}"));
    await client.close();
    const https = connect({ baseUrl: `${origin.replace("http:", "https:")}/api/v1` }, options());
    const error = await failureBeforeSending(transport, https);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(
      /^\w+ \S+: the server does not speak https on this port.*, 1 attempt .*baseUrl\.$/,
    );
    expect(requests).toHaveLength(0);
  });

  it("a connection that closes during the handshake is retried", async () => {
    const { port } = await listenRaw((socket) => socket.destroy());
    const client = connect({ baseUrl: `https://127.0.0.1:${port}/api/v1` }, options());
    const error = await failureBeforeSending(transport, client);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(transport === "undici" ? /nothing was sent, 3 attempts/ : /3 attempts/);
  });

  it.each([
    ["127.0.0.1:2", /the connection was refused(, nothing was sent)?, 3 attempts \(.*ECONNREFUSED.*\)\. Check/],
    ["no-such-host.invalid", /the host name (was not found|could not be looked up)(, nothing was sent)?, 3 attempts/],
  ])("%s cannot be reached, and is retried", async (host, expected) => {
    const client = connect({ baseUrl: `https://${host}/api/v1` }, options());
    const error = await failureBeforeSending(transport, client);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(expected);
    if (transport === "undici") expect(messageOf(error)).toContain("nothing was sent");
    // A fetch function may have sent the request before and repeated it. Then this is only the failure of its last attempt.
    else expect(await errorOf(client.inventory.receive(RECEIPT))).toBeInstanceOf(OutcomeUnknownError);
  });

  it("a connection that breaks after sending leaves the outcome unknown", async () => {
    const { origin } = await listenRaw((socket) => socket.once("data", () => socket.destroy()));
    const client = connect({ baseUrl: `${origin}/api/v1` }, options());
    expect(await errorOf(client.inventory.receive(RECEIPT))).toBeInstanceOf(OutcomeUnknownError);
    const error = await errorOf(client.items.get("X"));
    expect(messageOf(error)).toMatch(/^GET \/Item: the connection broke, 3 attempts \(.*other side closed\)\.$/);
  });

  it.each(["102 Processing", "103 Early Hints"])("an unsolicited %s is ignored", async (status) => {
    const body = JSON.stringify({ recNo: 7 });
    const head = `HTTP/1.1 ${status}\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}`;
    const { origin } = await listenRaw((socket) => socket.on("data", () => socket.write(`${head}\r\n\r\n${body}`)));
    const client = connect({ baseUrl: `${origin}/api/v1` }, options());
    expect(await client.inventory.receive(RECEIPT)).toEqual({ recNo: 7, body: { recNo: 7 } });
  });
});

it.each([
  [599, ServerError],
  [600, ApiError],
])("the status %i, which no document names, is an error", async (status, ErrorClass) => {
  const { client } = await clientOf((_, response) => response.writeHead(status).end("{}"), { retry: false });
  const error = await errorOf(client.items.get("X"));
  expect(error).toMatchObject({ name: ErrorClass.name, status });
});

describe("a fetch function that fails", () => {
  const failingWith = (error: unknown, calls: { count: number } = { count: 0 }): InventoryClient =>
    connect(
      { baseUrl: "https://inventory.test/api/v1" },
      {
        ...withToken,
        fetch: async () => {
          calls.count += 1;
          throw error;
        },
      },
    );
  const withCode = (code: string, message = code, syscall?: string) =>
    new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code, syscall }) });

  it("that repeats a request by itself may have sent a write, although its last try found no connection", async () => {
    let applied = 0;
    const { origin, sockets } = await listenRaw((socket) =>
      socket.once("data", () => {
        applied += 1;
        socket.destroy();
      }),
    );
    const calls = { count: 0 };
    const repeating: typeof globalThis.fetch = async (url, init) => {
      calls.count += 1;
      return globalThis.fetch(url, init).catch(() => globalThis.fetch("http://127.0.0.1:2/", init));
    };
    const client = connect({ baseUrl: `${origin}/api/v1` }, { ...withToken, fetch: repeating });
    const error = await errorOf(client.inventory.receive(RECEIPT));
    expect(error).toMatchObject({ name: "OutcomeUnknownError", applied: "unknown" });
    expect(messageOf(error)).toContain("ECONNREFUSED");
    expect({ applied, calls: calls.count, connections: sockets.length }).toEqual({
      applied: 1,
      calls: 1,
      connections: 1,
    });
    // A read is retried, unlike the write above.
    expect(await errorOf(client.items.get("X"))).toBeInstanceOf(ConnectionError);
    expect(calls.count).toBe(4);
  });

  const refusedByProxy = (status: number) =>
    withCode("UND_ERR_ABORTED", `Proxy response (${status}) !== 200 when HTTP Tunneling`);
  it.each<[string, Error, number, RegExp?]>([
    ...["CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"].map((code): [string, Error, number] => [
      code,
      withCode(code),
      1,
    ]),
    ...["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ECONNRESET", "EPIPE", "UND_ERR_CONNECT_TIMEOUT"].map(
      (code): [string, Error, number] => [code, withCode(code), 3],
    ),
    ...[401, 407].map((status): [string, Error, number, RegExp] => [
      `the proxy's ${status}`,
      refusedByProxy(status),
      1,
      /the proxy .*40.*HTTPS_PROXY/,
    ]),
    ["the proxy's 502", refusedByProxy(502), 3, /the proxy .*502.*HTTPS_PROXY/],
    ["a record that cannot be decrypted", withCode("ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC"), 3],
    ["a record that the server cannot decrypt", withCode("ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC"), 3],
    ["no connection", withCode("EHOSTUNREACH", "x", "connect"), 3],
    ["no address", withCode("EAI_AGAIN", "x", "getaddrinfo"), 3],
    ["a bare network error", new TypeError("Failed to fetch"), 3],
    ["msw's HttpResponse.error()", new TypeError("Failed to fetch", { cause: Response.error() }), 3],
    ["a status that is no status", new TypeError("fetch failed", { cause: withCode("ERR_ASSERTION") }), 3],
  ])("with %s may have sent a write, which is not retried; a read ends after its attempts", async (_, thrown, attempts, message = /./) => {
    const calls = { count: 0 };
    const client = failingWith(thrown, calls);
    expect(await errorOf(client.inventory.receive(RECEIPT))).toBeInstanceOf(OutcomeUnknownError);
    expect(calls.count).toBe(1);
    const error = await errorOf(client.items.get("X"));
    expect(error).toMatchObject({ name: "ConnectionError", message: expect.stringMatching(message) });
    expect(calls.count).toBe(1 + attempts);
  });

  it.each([
    ["a TypeError of its own", new TypeError("undefined is not a function")],
    ["what is not of the network", new TypeError("fetch failed", { cause: new Error("unexpected redirect") })],
    ["a file error", Object.assign(new Error("no such file"), { code: "ENOENT", syscall: "open" })],
    ["text", "text"],
  ])("with %s rejects with that, once; a write has an unknown outcome because of it", async (_, thrown) => {
    const calls = { count: 0 };
    const client = failingWith(thrown, calls);
    const shown =
      thrown instanceof Error ? expect.objectContaining({ name: thrown.name, message: thrown.message }) : thrown;
    expect(await errorOf(client.items.get("X"))).toEqual(shown);
    expect(calls.count).toBe(1);
    const error = await errorOf(client.inventory.receive(RECEIPT));
    expect(error).toMatchObject({ name: "OutcomeUnknownError", cause: shown });
    expect(calls.count).toBe(2);
  });

  const odd = (read: () => Promise<unknown>) => ({
    status: 200,
    headers: new Headers(),
    body: { getReader: () => ({ read }) },
  });
  const streamOf = (start: (controller: ReadableStreamDefaultController<never>) => void) =>
    new Response(new ReadableStream<never>({ start }));
  it.each<[string, unknown, string]>([
    ["nothing", undefined, "ConfigurationError"],
    ["null", null, "ConfigurationError"],
    ["an object", { status: 200 }, "ConfigurationError"],
    ["a status as text", { status: "200", headers: new Headers(), body: null }, "ConfigurationError"],
    ["a body of Node.js", { status: 200, headers: new Headers(), body: Readable.from(["{}"]) }, "ConfigurationError"],
    ["an unknown coding", new Response("{}", { headers: { "content-encoding": "lzma" } }), "ResponseValidationError"],
    ["chunks of text", odd(async () => ({ done: false, value: "text" })), "ResponseValidationError"],
    ["chunks that are null", odd(async () => null), "ConnectionError"],
    [
      "a stream of no bytes",
      streamOf((controller) => controller.enqueue("no bytes" as never)),
      "ResponseValidationError",
    ],
    [
      "a stream that fails with an odd value",
      streamOf((controller) => controller.error(Object.create(null))),
      "ConnectionError",
    ],
  ])("by returning %s rejects; a write has an unknown outcome", async (_, response, name) => {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      return response as Response;
    };
    const client = connect({ baseUrl: "https://inventory.test/api/v1" }, { ...withToken, retry: false, fetch });
    expect(await errorOf(client.items.get("X"))).toMatchObject({ name });
    expect(await errorOf(client.inventory.receive(RECEIPT))).toBeInstanceOf(OutcomeUnknownError);
    expect(calls).toBe(2);
  });

  it("a response with status 0 counts as lost", async () => {
    const client = connect(
      { baseUrl: "https://inventory.test/api/v1" },
      { ...withToken, fetch: async () => Response.error() },
    );
    expect(await errorOf(client.inventory.receive(RECEIPT))).toBeInstanceOf(OutcomeUnknownError);
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(/status 0/);
  });
});

describe("a service of this machine that is not there", () => {
  it("is reported after two more attempts within a second", async () => {
    const client = connect({ baseUrl: "http://127.0.0.1:2/api/v1" });
    const startedAt = performance.now();
    const error = await errorOf(client.items.get("X"));
    expect(messageOf(error)).toMatch(/^POST \/Token: the connection was refused, nothing was sent, 3 attempts .*Check/);
    // The two waits before the retries.
    expect(performance.now() - startedAt).toBeGreaterThan(550);
  });

  it("is tried as often as the caller has chosen", async () => {
    const client = connect({ baseUrl: "http://127.0.0.1:2/api/v1" }, { retry: { maxRetries: 4, minDelayMs: 1 } });
    expect(messageOf(await errorOf(client.items.get("X")))).toContain("5 attempts");
  });

  it("is tried as usual once it has responded", async () => {
    const { server, origin } = await listen((request, response) =>
      response.end(JSON.stringify(request.url === "/api/v1/Token" ? TOKEN : ITEM)),
    );
    const client = connect({ baseUrl: `${origin}/api/v1` });
    await client.items.get("X");
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    // The two quick retries of an unreachable service would end before this limit.
    const error = await errorOf(client.items.get("X", { totalTimeoutMs: 1_500 }));
    expect(messageOf(error)).toMatch(
      /^GET \/Item: not finished within totalTimeoutMs \(1500 ms\), \d attempts?\. The last failure: .*(refused|broke|closed)/,
    );
  });
});

describe("a call that runs out of time names its last failure:", () => {
  it("that of the call", async () => {
    const { client } = await clientOf((_, response) => response.writeHead(503).end('{"message":"in maintenance"}'), {
      retry: { maxRetries: 50, minDelayMs: 1, maxDelayMs: 20 },
      totalTimeoutMs: 150,
    });
    const error = await errorOf(client.items.get("X"));
    expect(messageOf(error)).toMatch(
      /^GET \/Item: not finished within totalTimeoutMs \(150 ms\), \d+ attempts?\. The last failure: 503 in maintenance\.$/,
    );
    expect(error).toMatchObject({ name: "TimeoutError", cause: { name: "ServerError" } });
  });

  it("also if the event loop was blocked when the time was over", async () => {
    const block = () => {
      for (const endsAt = performance.now() + 200; performance.now() < endsAt; );
    };
    const { client } = await clientOf((_, response) => response.writeHead(503).end(), {
      retry: { maxRetries: 50, minDelayMs: 50, maxDelayMs: 50 },
      totalTimeoutMs: 150,
      hooks: { retry: () => void setTimeout(block, 10) },
    });
    expect(messageOf(await errorOf(client.items.get("X")))).toMatch(
      /^GET \/Item: not finished within totalTimeoutMs \(150 ms\), 1 attempt\. The last failure: 503/,
    );
  });

  it("that of an attempt before one that took too long, once", async () => {
    let requests = 0;
    const { client } = await clientOf(
      (_, response) => {
        requests += 1;
        if (requests === 1) response.writeHead(503).end();
      },
      { retry: { maxRetries: 2, minDelayMs: 1, maxDelayMs: 2 }, timeoutMs: 60 },
    );
    const error = await errorOf(client.items.get("X"));
    expect(messageOf(error)).toMatch(
      /^GET \/Item: no complete response within timeoutMs \(60 ms\), 3 attempts\. The last failure: no complete response within timeoutMs \(60 ms\), 2 attempts\.$/,
    );
  });

  it("that of the token request for which it waits", async () => {
    const client = connect(
      { baseUrl: "http://127.0.0.1:2/api/v1" },
      { retry: { maxRetries: 50, minDelayMs: 1, maxDelayMs: 20 }, totalTimeoutMs: 150 },
    );
    expect(messageOf(await errorOf(client.items.get("X")))).toMatch(
      /^GET \/Item: not finished within totalTimeoutMs \(150 ms\), nothing was sent\. The last failure: POST \/Token: the connection was refused/,
    );
  });
});

describe("a dispatcher that fails", () => {
  const clientWith = (dispatch: () => boolean) => {
    const dispatcher: unknown = { dispatch };
    return connect({ baseUrl: "https://inventory.test/api/v1" }, { ...withToken, dispatcher: dispatcher as Agent });
  };

  it("with an exception of its own rejects unchanged, once; nothing was sent", async () => {
    const bug = new TypeError("this.dispatch is not a function");
    let calls = 0;
    const client = clientWith(() => {
      calls += 1;
      throw bug;
    });
    expect(await errorOf(client.items.get("X"))).toBe(bug);
    expect(await errorOf(client.inventory.receive(RECEIPT))).toBe(bug);
    expect(calls).toBe(2);
  });

  it("because it is closed is a ConnectionError, and is not retried", async () => {
    const dispatcher = new Agent();
    await dispatcher.close();
    const client = connect({ baseUrl: "https://inventory.test/api/v1" }, { ...withToken, dispatcher });
    const error = await errorOf(client.inventory.receive(RECEIPT));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(messageOf(error)).toMatch(/the dispatcher (is|was) closed, nothing was sent, 1 attempt/);
  });
});

it.each(
  TRANSPORTS,
)("a host with several addresses that refuse is one failure of %s, which names them all", async (_, transport) => {
  const addresses = [
    { address: "::1", family: 6 },
    { address: "127.0.0.1", family: 4 },
  ];
  const lookup = vi.spyOn(dns, "lookup") as unknown as MockInstance;
  onTestFinished(() => lookup.mockRestore());
  lookup.mockImplementation((...given: unknown[]) => (given.at(-1) as (...found: unknown[]) => void)(null, addresses));
  const client = connect({ baseUrl: "http://localhost:59/api/v1" }, { retry: false, ...transport });
  const error = await errorOf(client.items.get("X"));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(String(error)).toContain("connect ECONNREFUSED ::1:59; connect ECONNREFUSED 127.0.0.1:59");
});
