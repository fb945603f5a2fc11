import { connect as connectSocket } from "node:net";
import { Agent, interceptors, MockAgent } from "undici";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConnectionError } from "../../src/index.js";
import { ITEM } from "../support/records.js";
import { clientOf, connect, listen } from "./server.js";

const item = JSON.stringify(ITEM);

afterEach(() => vi.unstubAllEnvs());

/** A proxy that tunnels, and counts. */
async function proxy() {
  const tunnels: string[] = [];
  const { server, origin } = await listen((_, response) => response.writeHead(500).end());
  server.on("connect", (request, socket) => {
    tunnels.push(request.url ?? "");
    const [host, port] = (request.url ?? "").split(":");
    const upstream = connectSocket(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [upstream, socket]) end.on("error", () => upstream.destroy());
  });
  return { tunnels, origin };
}

describe("an environment proxy", () => {
  /** An address of this machine that is not a loopback address. */
  const notLoopback = { host: "0.0.0.0", allowInsecureHttp: true };

  it.each(["HTTP_PROXY", "http_proxy"])("named by %s is used", async (name) => {
    const { tunnels, origin } = await proxy();
    vi.stubEnv(name, origin);
    const { client } = await clientOf((_, response) => response.end(item), notLoopback);
    expect(await client.items.get("X")).toEqual(ITEM);
    expect(tunnels.length).toBeGreaterThan(0);
  });

  it("is not used for hosts that NO_PROXY names, nor with a dispatcher of the caller's", async () => {
    const { tunnels, origin } = await proxy();
    vi.stubEnv("HTTP_PROXY", origin);
    const agent = new Agent();
    const own = await clientOf((_, response) => response.end(item), { ...notLoopback, dispatcher: agent });
    await own.client.items.get("X");
    vi.stubEnv("NO_PROXY", "0.0.0.0");
    const direct = await clientOf((_, response) => response.end(item), notLoopback);
    await direct.client.items.get("X");
    expect(tunnels).toEqual([]);
    await agent.close();
  });
});

describe("the caller's dispatcher", () => {
  it("carries all requests and stays open when the client closes", async () => {
    const agent = new Agent({ connections: 1 });
    const dispatch = vi.spyOn(agent, "dispatch");
    const { client } = await clientOf((_, response) => response.end(item), { dispatcher: agent });
    await client.items.get("X");
    await client.close();
    expect(dispatch).toHaveBeenCalledTimes(2);
    expect(agent.closed).toBe(false);
    await agent.close();
  });

  it("may be undici's MockAgent", async () => {
    const agent = new MockAgent();
    agent.disableNetConnect();
    const pool = agent.get("https://inventory.test");
    pool.intercept({ path: "/api/v1/Token", method: "POST" }).reply(200, { access_token: "t", expires_in: 60 });
    pool.intercept({ path: "/api/v1/Item?key=X&type=id" }).reply(200, ITEM);
    const client = connect("https://inventory.test/api/v1", { dispatcher: agent, retry: false });
    expect(await client.items.get("X")).toEqual(ITEM);
    await expect(client.items.get("Y")).rejects.toThrow(ConnectionError);
    await agent.close();
  });
});

// undici reuses a connection only after one turn of the event loop, so consecutive calls alternate between two.
it("connections are kept open between calls", async () => {
  const ports = new Set<number | undefined>();
  const { client } = await clientOf((request, response) => {
    ports.add(request.socket.remotePort);
    response.end(item);
  });
  for (let count = 0; count < 20; count += 1) await client.items.get("X");
  expect(ports.size).toBeLessThanOrEqual(2);
});

it("connections that were kept open are closed with the client", async () => {
  const closed: Promise<unknown>[] = [];
  const token = '{"access_token":"canary-token-0123456789","token_type":"bearer","expires_in":3600}';
  const { server, origin } = await listen((request, response) => {
    closed.push(new Promise((resolve) => request.socket.once("close", resolve)));
    // Neither side would close it within a test.
    response.writeHead(200, { "keep-alive": "timeout=600" }).end(request.url?.endsWith("/Token") ? token : item);
  });
  server.keepAliveTimeout = 0;
  const client = connect(`${origin}/api/v1`);
  await client.items.get("X");
  await client.close();
  await Promise.all(closed);
});

it("responses with error statuses release their connection too", async () => {
  const ports = new Set<number | undefined>();
  const { client, requests } = await clientOf(
    (request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead([404, 409, 500, 501][requests.length % 4] ?? 500).end("x".repeat(100_000));
    },
    { retry: false },
  );
  for (let count = 0; count < 20; count += 1) await client.items.get("X").catch(() => {});
  expect(requests).toHaveLength(20);
  expect(ports.size).toBeLessThanOrEqual(2);
});

it("no global is touched", async () => {
  const before = { fetch: globalThis.fetch, setTimeout: globalThis.setTimeout };
  const dispatcherKey = Symbol.for("undici.globalDispatcher.1");
  const dispatcher: unknown = Reflect.get(globalThis, dispatcherKey);
  const { client } = await clientOf((_, response) => response.end(item));
  await client.items.get("X");
  expect({ fetch: globalThis.fetch, setTimeout: globalThis.setTimeout }).toEqual(before);
  expect(Reflect.get(globalThis, dispatcherKey)).toBe(dispatcher);
});

it("a redirect interceptor of the caller's dispatcher cannot send credentials elsewhere", async () => {
  const other: string[] = [];
  const elsewhere = await listen((request, response) => {
    other.push(request.url ?? "");
    response.end("{}");
  });
  const service = await listen((_, response) => {
    response.writeHead(307, { location: `${elsewhere.origin}/Token` }).end();
  });
  const agent = new Agent().compose(interceptors.redirect({ maxRedirections: 5 }));
  const client = connect(`${service.origin}/api/v1`, { dispatcher: agent, retry: false });
  await expect(client.items.get("X")).rejects.toMatchObject({ status: 307 });
  expect(other).toEqual([]);
  await agent.close();
});
