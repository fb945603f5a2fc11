import { execFile } from "node:child_process";
import { connect as connectSocket, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { promisify } from "node:util";
import { Agent } from "undici";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type ClientOptions, ConfigurationError, ConnectionError } from "../../src/index.js";
import { builtProgram } from "../support/built-program.js";
import { createCertificates } from "../support/certificates.js";
import { visibleText } from "../support/leaks.js";
import { ITEM } from "../support/records.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, errorOf, QUICK, RECEIPT, sleep, storedToken } from "../support/with-server.js";
import { clientOf, listenOn, listenRaw } from "./server.js";

const item = JSON.stringify(ITEM);
/** The number of calls, which is smaller in `npm test`. */
const CALLS = RUN_ALL ? 200 : 40;
const program = await builtProgram(new URL("../support/one-call.ts", import.meta.url));
const quick = { ...QUICK, maxRetries: 2 };

afterEach(() => vi.unstubAllEnvs());

/** Starts a proxy that responds to each CONNECT with this status. If it is 200, every host is connected to this machine. */
async function startProxy(status: string) {
  const requests: string[] = [];
  const proxy = await listenRaw((socket) => {
    socket.once("data", (head) => {
      requests.push(head.toString());
      if (!status.startsWith("200")) return void socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
      const [, port] = /^CONNECT [^:]+:(\d+)/.exec(head.toString()) ?? [];
      const upstream = connectSocket(Number(port), "127.0.0.1", () => {
        socket.write(`HTTP/1.1 ${status}\r\n\r\n`);
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [upstream, socket]) end.on("error", () => upstream.destroy());
    });
  });
  return { ...proxy, requests };
}

/** Creates a client of a host that only a proxy can reach. */
const clientBehindProxy = (port: number | string = 80, retry: ClientOptions["retry"] = quick) =>
  connect({ baseUrl: `http://inventory.test:${port}/api/v1` }, { allowInsecureHttp: true, retry });

/** Runs a process that makes one call and must end by itself. */
async function runUntilExit(env: Record<string, string>, ...args: string[]) {
  const startedAt = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
    timeout: 100_000,
    env: { ...process.env, ...env },
  });
  return { output: stdout.trim(), durationMs: performance.now() - startedAt };
}

describe.skipIf(!RUN_ALL).each<[string, (socket: Socket) => void, RegExp, number]>([
  ["accepts connections and closes them", (socket) => void socket.destroy(), /through the proxy: /, 4],
  ["never responds to CONNECT", () => {}, /within 10000 ms/, 2],
])("a proxy that %s", (_, onConnection, message, connections) => {
  it("makes the call fail unsent, and opens no further connection", async () => {
    const proxy = await listenRaw(onConnection);
    vi.stubEnv("HTTP_PROXY", proxy.origin);
    const error = await errorOf(clientBehindProxy(80, connections > 2 && { ...quick, maxRetries: 3 }).items.get("X"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(String(error)).toMatch(message);
    expect(String(error)).toMatch(/through the proxy: .*nothing was sent/);
    await sleep(2_000);
    expect(proxy.sockets.length).toBeLessThanOrEqual(connections);
  });

  it("lets the process end", async () => {
    const proxy = await listenRaw(onConnection);
    const { output, durationMs } = await runUntilExit(
      { HTTPS_PROXY: proxy.origin },
      "https://inventory.test/api/v1",
      connections > 2 ? "failure" : "abort",
    );
    expect(output).toMatch(/^(ConnectionError POST .Token: through the proxy: .*HTTPS_PROXY|TimeoutError$)/);
    expect(proxy.sockets.length).toBeLessThanOrEqual(connections);
    // An attempt to connect may take 10 s.
    expect(durationMs).toBeLessThan(16_000);
  });
});

it.skipIf(!RUN_ALL)("a service that never ends the TLS handshake keeps no process alive after the call", async () => {
  const { port } = await listenRaw(() => {});
  const { output, durationMs } = await runUntilExit({}, `https://127.0.0.1:${port}/api/v1`, "abort");
  expect(output).toBe("TimeoutError");
  // Less than the 10 s that an attempt to connect may take.
  expect(durationMs).toBeLessThan(9_500);
});

describe("a proxy of https", () => {
  it("with a refused certificate is named, not retried, and no further connection is opened", async () => {
    const certificates = createCertificates();
    onTestFinished(() => certificates.remove());
    const server = createTlsServer(certificates.otherHost);
    server.on("tlsClientError", () => {});
    const port = await listenOn(server, "127.0.0.1");
    const proxy = await startProxy("200 OK");
    vi.stubEnv("HTTPS_PROXY", proxy.origin);
    const client = connect({ baseUrl: `https://localhost:${port}/api/v1` }, { retry: quick });
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /through the proxy: the server's certificate was refused, nothing was sent, 1 attempt .*NODE_EXTRA_CA_CERTS/,
      ),
    });
    await sleep(150);
    expect(proxy.requests).toHaveLength(1);
  });

  it.each([
    "at once",
    "after CONNECT",
  ])("that closes %s fails all calls at the same time, known to be unsent, with as many connections", async (when) => {
    const proxy = await listenRaw((socket) => {
      if (when === "at once") socket.destroy();
      else socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    });
    vi.stubEnv("HTTPS_PROXY", proxy.origin);
    const options = { retry: false, rateLimit: false, tokenStore: storedToken } as const;
    const client = connect({ baseUrl: "https://inventory.test/api/v1" }, options);
    const failures = await Promise.all(Array.from({ length: CALLS }, () => errorOf(client.inventory.receive(RECEIPT))));
    for (const error of failures)
      expect(error).toMatchObject({ name: "ConnectionError", message: expect.stringMatching(/nothing was sent/) });
    const connections = proxy.sockets.length;
    expect(connections).toBeLessThanOrEqual(CALLS);
    await sleep(150);
    expect(proxy.sockets).toHaveLength(connections);
  });
});

describe("a proxy's address", () => {
  it("works without a scheme, as in curl", async () => {
    const proxy = await startProxy("200 OK");
    const { origin } = await clientOf((_, response) => response.end(item));
    vi.stubEnv("HTTP_PROXY", `127.0.0.1:${proxy.port}`);
    expect(await clientBehindProxy(new URL(origin).port).items.get("X")).toEqual(ITEM);
    expect(proxy.requests.length).toBeGreaterThan(0);
  });

  it.each([
    "http://",
    "ftp://robot:canary-proxy-password@proxy.test",
    "http://robot:canary-proxy-password%@proxy.test",
    "http://proxy.test:3128/?query",
  ])("%s is a ConfigurationError that names the variable, until it is corrected", async (address) => {
    const proxy = await startProxy("200 OK");
    const { origin } = await clientOf((_, response) => response.end(item));
    vi.stubEnv("http_proxy", address);
    const client = clientBehindProxy(new URL(origin).port);
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ message: expect.stringMatching(/http_proxy/) });
    expect(visibleText(error)).not.toContain("canary-proxy-password");
    vi.stubEnv("http_proxy", proxy.origin);
    expect(await client.items.get("X")).toEqual(ITEM);
  });
});

/** Starts a SOCKS5 proxy that accepts one password and connects every host to this machine. If `reply` is not 0, it refuses. */
const startSocksProxy = (reply = 0, password = "canary-p@ssword") =>
  listenRaw((socket) => {
    socket.once("data", () => {
      socket.write(Buffer.from([5, 2]));
      socket.once("data", (login) => {
        socket.write(Buffer.from([1, login.includes(password) ? 0 : 1]));
        socket.once("data", (target) => {
          socket.write(Buffer.from([5, reply, 0, 1, 127, 0, 0, 1, 0, 80]));
          if (reply !== 0) return;
          const upstream = connectSocket(target.readUInt16BE(target.length - 2), "127.0.0.1");
          upstream.on("error", () => socket.destroy());
          upstream.pipe(socket).pipe(upstream);
        });
      });
    });
  });

it("a SOCKS5 proxy connects to the service", async () => {
  const proxy = await startSocksProxy();
  const { origin } = await clientOf((_, response) => response.end(item));
  vi.stubEnv("HTTP_PROXY", `socks5://robot:canary-p%40ssword@127.0.0.1:${proxy.port}`);
  const client = clientBehindProxy(new URL(origin).port);
  expect(await client.items.get("X")).toEqual(ITEM);
  expect(proxy.sockets.length).toBeGreaterThan(0);
  await client.close();
});

describe("a failing proxy is named with its variable, nothing was sent, and no password is shown:", () => {
  const nobody = async () => ({ port: 1 });
  const FAILING: [string, string, () => Promise<{ port: number; requests?: string[] }>, number, string][] = [
    ["it refuses", "http", () => startProxy("403 Forbidden"), 1, "through the proxy: .*403.*HTTP_PROXY"],
    [
      "it refuses the password",
      "http",
      () => startProxy("407 Unauthorized"),
      1,
      "through the proxy: .*407.*HTTP_PROXY",
    ],
    [
      "it cannot reach the service",
      "http",
      () => startProxy("502 Bad Gateway"),
      3,
      "through the proxy: .*502.*HTTP_PROXY",
    ],
    ["no server listens", "http", nobody, 3, "through the proxy: .*refused.*127.0.0.1:1\\b.*HTTP_PROXY"],
    ["SOCKS5, it cannot reach the service", "socks5", () => startSocksProxy(5), 1, ".*PROXY"],
    ["SOCKS5, it refuses the password", "socks5", () => startSocksProxy(0, "other"), 1, ".*PROXY"],
    ["SOCKS5, no server listens", "socks5", nobody, 1, ".*(PROXY|127.0.0.1:1\\b)"],
    // undici notices the closed connection after five seconds.
    ["SOCKS5, it closes the connection", "socks5", () => listenRaw((socket) => void socket.destroy()), 1, ".*PROXY"],
  ];
  it.each(RUN_ALL ? FAILING : FAILING.slice(0, -1))("%s", async (_, scheme, start, attempts, expected) => {
    const { port, requests } = await start();
    vi.stubEnv("HTTP_PROXY", `${scheme}://robot:canary-p%40ssword@127.0.0.1:${port}`);
    const error = await errorOf(clientBehindProxy(80, scheme === "http" && quick).items.get("X"));
    expect(error).toMatchObject({
      name: "ConnectionError",
      message: expect.stringMatching(`^POST /Token: ${expected}`),
    });
    expect(String(error)).toMatch(attempts > 1 ? `nothing was sent, ${attempts} attempts` : "nothing was sent");
    expect(visibleText(error)).not.toContain("canary");
    if (!requests) return;
    expect(requests).toHaveLength(attempts);
    const credentials = Buffer.from("robot:canary-p@ssword").toString("base64");
    expect(requests[0]).toContain(`proxy-authorization: Basic ${credentials}`);
  });
});

describe("NO_PROXY", () => {
  it.each([
    ["*", false],
    ["inventory.test", false],
    ["other.test, .INVENTORY.test", false],
    ["*.test", false],
    ["inventory.test:443", true],
    ["inventory.test:80", false],
    ["tory.test", true],
    ["", true],
  ])("%j: the proxy is used: %s", async (list, isUsed) => {
    const proxy = await listenRaw((socket) => socket.destroy());
    vi.stubEnv("HTTP_PROXY", proxy.origin);
    vi.stubEnv("NO_PROXY", list);
    const client = clientBehindProxy(80, false);
    await errorOf(client.items.get("X"));
    expect(proxy.sockets).toHaveLength(isUsed ? 1 : 0);
  });
});

it("a dispatcher of the caller's uses no proxy of the environment", async () => {
  const proxy = await listenRaw((socket) => socket.destroy());
  vi.stubEnv("HTTP_PROXY", proxy.origin);
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.destroy());
  const options = { host: "0.0.0.0", allowInsecureHttp: true, dispatcher };
  const { client } = await clientOf((_, response) => response.end(item), options);
  expect(await client.items.get("X")).toEqual(ITEM);
  expect(proxy.sockets).toHaveLength(0);
});

it("plain http to loopback addresses never uses a proxy", async () => {
  const proxy = await listenRaw((socket) => socket.destroy());
  vi.stubEnv("HTTP_PROXY", proxy.origin);
  const { client, origin } = await clientOf((_, response) => response.end(item));
  expect(await client.items.get("X")).toEqual(ITEM);
  const named = connect({ baseUrl: `${origin.replace("127.0.0.1", "localhost")}/api/v1` }, { retry: false });
  await errorOf(named.items.get("X"));
  expect(proxy.sockets).toHaveLength(0);
});

it("a call that ends while its connection is being opened is not sent later", async () => {
  const heads: string[] = [];
  let open: (() => void) | undefined;
  const proxy = await listenRaw((socket) => {
    socket.once("data", () => {
      open = () => socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.on("data", (bytes) => heads.push(bytes.toString()));
    });
  });
  vi.stubEnv("HTTP_PROXY", proxy.origin);
  const client = clientBehindProxy();
  const controller = new AbortController();
  const error = errorOf(client.items.get("X", { signal: controller.signal }));
  await vi.waitUntil(() => open !== undefined);
  controller.abort("no longer wanted");
  expect(await error).toBe("no longer wanted");
  open?.();
  await sleep(150);
  expect(heads).toEqual([]);
});
