import { Agent, interceptors, MockAgent } from "undici";
import { expect, it } from "vitest";
import { ConnectionError } from "../../src/index.js";
import { ITEM } from "../support/records.js";
import { connect } from "../support/with-server.js";
import { clientOf, listen } from "./server.js";

const item = JSON.stringify(ITEM);

it("the caller's dispatcher carries all requests, and may be undici's MockAgent", async () => {
  const agent = new MockAgent();
  agent.disableNetConnect();
  const pool = agent.get("https://inventory.test");
  pool.intercept({ path: "/api/v1/Token", method: "POST" }).reply(200, { access_token: "t", expires_in: 60 });
  pool.intercept({ path: "/api/v1/Item?key=X&type=id" }).reply(200, ITEM);
  const client = connect({ baseUrl: "https://inventory.test/api/v1" }, { dispatcher: agent, retry: false });
  expect(await client.items.get("X")).toEqual(ITEM);
  await expect(client.items.get("Y")).rejects.toThrow(ConnectionError);
  await agent.close();
});

// undici reuses a connection only after one turn of the event loop, so consecutive calls alternate between two.
it.each([200, 404, 409, 500, 501])("connections are kept open after a response with %i", async (status) => {
  const ports = new Set<number | undefined>();
  const { client } = await clientOf(
    (request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(status).end(status === 200 ? item : "x".repeat(100_000));
    },
    { retry: false },
  );
  for (let count = 0; count < 20; count += 1) await client.items.get("X").catch(() => {});
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
  const client = connect({ baseUrl: `${origin}/api/v1` });
  await client.items.get("X");
  await client.close();
  await Promise.all(closed);
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
  const client = connect({ baseUrl: `${service.origin}/api/v1` }, { dispatcher: agent, retry: false });
  await expect(client.items.get("X")).rejects.toMatchObject({ status: 307 });
  expect(other).toEqual([]);
  await agent.close();
});
