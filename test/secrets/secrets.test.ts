import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type ClientOptions, type FetchLike, type InventoryClient, OutcomeUnknownError } from "../../src/index.js";
import { type FaultServer, isNotToken, isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { findLeaks } from "../support/leaks.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, errorOf, QUICK, RECEIPT, recorder, SECRET, startServer } from "../support/with-server.js";
import { WRITES } from "../support/writes.js";

const TOKEN = "canary-token-1-0123456789abcdef";
/** The length of large texts, in characters. It is smaller in `npm test`. */
const LARGE = RUN_ALL ? 6_000_000 : 1_000_000;
const API_KEY = "canary-gateway-key-0123456789";
const SECRETS = [SECRET, TOKEN, "canary-token-2-0123456789abcdef", API_KEY];
const quick = { ...QUICK, maxRetries: 1, maxRateLimitRetries: 1 };
const always = Number.POSITIVE_INFINITY;

it("the search finds a secret wherever it is visible", () => {
  const hidden = Object.defineProperty(new Error("x"), "init", { value: { headers: [SECRET] } });
  for (const value of [
    SECRET,
    { a: { b: [SECRET] } },
    new Error(SECRET),
    new Error("x", { cause: SECRET }),
    hidden,
    Buffer.from(SECRET),
  ]) {
    expect(findLeaks(value, SECRETS)).not.toEqual([]);
  }
  expect(findLeaks({ text: "nothing to see" }, SECRETS)).toEqual([]);
});

type RecordedCall = (client: InventoryClient, note: (value: unknown) => void) => Promise<unknown>;

const readsAndWrites: [string, RecordedCall][] = [
  ["get", (client, onResponse) => client.items.get("BOLT", { onResponse })],
  ["listLots", (client, onResponse) => client.inventory.listLots({}, { onResponse }).toArray()],
  ["request", (client, onResponse) => client.request({ method: "POST", path: "/Orders", body: {} }, { onResponse })],
  ...WRITES.map(({ name, call }): [string, RecordedCall] => [
    name,
    (client, onResponse) => call(client, { onResponse }),
  ]),
];

/** The calls that `npm test` makes: a read, a list, and a write of each kind. */
const SOME = ["get", "listLots", "receive", "update"];
const CALLS = readsAndWrites.filter(([name]) => RUN_ALL || SOME.includes(name));

async function expectNoLeak(server: FaultServer, options: ClientOptions = {}, secrets = SECRETS) {
  for (const [name, call] of CALLS) {
    const { recorded, note, logger, hooks } = recorder();
    const headers = { "X-Api-Key": API_KEY, Cookie: `session=${API_KEY}-cookie` };
    const client = connect(server, { retry: quick, logger, hooks, headers, ...options });
    // A returned value is not checked, because transactions return the body of any success unchanged.
    const outcome = await call(client, note).then(
      () => undefined,
      (error: unknown) => error,
    );
    recorded.push(outcome, client, client.rateLimit, client.items, client.inventory, client.items.list());
    for (const one of recorded) expect(findLeaks(one, secrets), `${name}: ${String(one)}`).toEqual([]);
    await client.close();
  }
}

/** A text that returns the secrets in every form in which a server may return them. */
const ECHO = `you sent Authorization: Bearer ${TOKEN} and client_id=scanner&client_secret=${SECRET}, X-Api-Key: ${API_KEY}, session=${API_KEY}-cookie`;

describe("a server that returns the secrets", () => {
  it.each([400, 401, 403, 404, 429, 500, 501])("in the message of a %i shows none of them", async (code) => {
    const server = await startServer();
    server.plan(faults.status(code, { message: ECHO, headers: { "x-echo": ECHO } }), { times: always });
    await expectNoLeak(server);
  });

  /** Creates a fault: the write is not applied, and the response has a body of any type. */
  const respondWith = (code: number, type: string, text: string): faults.Fault => ({
    applies: false,
    respond: ({ response }) => void response.writeHead(code, { "content-type": type }).end(text),
  });

  it.each([
    { error: "validation_error", message: ECHO, details: { [TOKEN]: [ECHO] } },
    { error: ECHO, title: ECHO },
  ])("in code, details and other fields shows none of them", async (content) => {
    const server = await startServer();
    server.plan(respondWith(400, "application/json", JSON.stringify(content)), { times: always });
    await expectNoLeak(server);
  });

  it.each([
    ["at the end of the excerpt", `${"x".repeat(185)} ${TOKEN} ${SECRET}`],
    ["at the end of the longer excerpt", `${"x".repeat(3_985)} ${TOKEN}`],
    ["behind much that is left out", `${"<br>".repeat(996)}${TOKEN}`],
    ["at the end of the excerpt of a body that is not JSON", `${"x".repeat(105)} ${TOKEN}`],
    ["where JSON ends", `{"a": "${TOKEN}" oops`],
    ["just before JSON breaks", `{"a": 1, "b": ${TOKEN}`],
    ["in HTML", `<html><head><title>${TOKEN}</title></head><body>${ECHO}</body></html>`],
  ])("%s shows no piece of them", async (_, text) => {
    const server = await startServer();
    for (const code of [200, 500]) {
      server.clearPlans();
      server.plan(respondWith(code, "text/html", text), { times: always });
      await expectNoLeak(server);
    }
  });

  it.each([
    ["in a response that is not HTTP", `${ECHO}\r\n\r\n`],
    ["in a malformed header", `HTTP/1.1 200 OK\r\n${ECHO}\r\n\r\n`],
    ["in the middle of broken chunks", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello${TOKEN}\r\n`],
    ["in a status line", `HTTP/1.1 999999 ${ECHO}\r\n\r\n`],
    [
      "in the second length of a response",
      `HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: ${TOKEN}\r\n\r\nhello`,
    ],
  ])("%s shows none of them", async (_, raw) => {
    const server = await startServer();
    server.plan(faults.notHttp(raw), { times: always });
    await expectNoLeak(server);
    await expectNoLeak(server, { fetch: globalThis.fetch });
  });

  it("in compressed bodies that are broken shows none of them", async () => {
    const server = await startServer();
    server.plan(
      faults.body(Buffer.concat([gzipSync(ECHO), Buffer.from(TOKEN)]).subarray(0, -9), {
        headers: { "content-encoding": "gzip" },
      }),
      { times: always },
    );
    await expectNoLeak(server);
  });
});

describe("a failure that is hard to read", () => {
  function explode(): never {
    throw new Error(SECRET);
  }
  const exploding = (name: string) => () =>
    Object.defineProperty(new Error("x"), name, { get: explode, enumerable: true });

  it.each<[string, () => unknown]>([
    ["Bearer and megabytes of letters", () => new Error(`Bearer ${"x".repeat(LARGE)}`)],
    ["megabytes of blanks", () => new Error(`a${" ".repeat(LARGE)}b`)],
    ["a message that throws", exploding("message")],
    ["a code that throws", exploding("code")],
    ["a cause that throws", exploding("cause")],
    ["a Proxy", () => new Proxy(new Error("x"), { get: explode, getPrototypeOf: explode, has: explode })],
  ])("with %s leaves the outcome unknown", async (_, failure) => {
    const client = connect(await startServer(), {
      fetch: async (url) => {
        if (url.endsWith("/Token")) return Response.json({ access_token: TOKEN, expires_in: 3600 });
        throw failure();
      },
    });
    const error = await errorOf(client.inventory.receive(RECEIPT));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(String(error).length).toBeLessThan(5_000);
  });
});

describe("a token endpoint that returns the secrets", () => {
  it.each([
    ["a refusal", faults.status(401, { message: ECHO, headers: { "www-authenticate": `Bearer ${TOKEN}` } })],
    ["a 500", faults.status(500, { message: ECHO })],
    ["a 429", faults.status(429, { message: ECHO })],
    ["HTML with status 200", faults.body(`<p>${ECHO}</p>`, { applies: false })],
    ["JSON that is cut", faults.body(`{"access_token":"${TOKEN}`, { applies: false })],
    ["a token with a line break", faults.body(JSON.stringify({ access_token: `${TOKEN}\r\n` }), { applies: false })],
    ["what is not HTTP", faults.notHttp(`{"access_token":"${TOKEN}"}\r\n\r\n`)],
    ["broken chunks", faults.notHttp(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"acc${TOKEN}\r\n`)],
  ])("in %s shows none of them", async (_, fault) => {
    const server = await startServer();
    server.plan(fault, { on: isToken, times: always });
    await expectNoLeak(server);
    await expectNoLeak(server, { fetch: globalThis.fetch });
  });
});

describe("a fetch function that fails with the request in its error", () => {
  const failing =
    (make: (init: RequestInit, url: string) => unknown): FetchLike =>
    async (url, init) => {
      if (url.endsWith("/Token")) return Response.json({ access_token: TOKEN, expires_in: 3600 });
      throw make(init, url);
    };

  it.each<[string, (init: RequestInit, url: string) => unknown]>([
    ["as a field", (init) => Object.assign(new Error("failed"), { config: init })],
    ["as its cause", (init) => new TypeError("fetch failed", { cause: init })],
    ["in its message", (init) => new Error(`failed: ${JSON.stringify(init)}`)],
    ["in its name", (init) => Object.assign(new Error("failed"), { name: JSON.stringify(init) })],
    ["in its code", (init) => Object.assign(new Error("failed"), { code: JSON.stringify(init) })],
    [
      "among several errors",
      (init) => new AggregateError([Object.assign(new Error("failed"), { init })], "all failed"),
    ],
    ["without an Error", (init) => ({ init })],
    ["as a text", (init) => JSON.stringify(init)],
  ])("%s shows nothing of it", async (_, make) => {
    await expectNoLeak(await startServer(), { fetch: failing(make) });
  });

  it("rejects with its error if that shows nothing", async () => {
    const mine = Object.assign(new Error("no route"), { code: "E_NO_ROUTE" });
    const client = connect(await startServer(), { fetch: failing(() => mine) });
    expect(await errorOf(client.items.get("BOLT"))).toEqual(mine);
  });
});

describe("what else a client shows", () => {
  it("contains no secret if all goes well", async () => {
    const server = await startServer();
    await expectNoLeak(server);
    expect(server.requests.some(({ authorization }) => authorization?.includes("canary-token"))).toBe(true);
  });

  it("contains no secret if the caller puts one into a path", async () => {
    const { recorded, note, logger, hooks } = recorder();
    const client = connect(await startServer(), { logger, hooks });
    recorded.push(await errorOf(client.items.discontinue(SECRET, { onResponse: note })));
    expect(recorded).toContainEqual(expect.objectContaining({ method: "DELETE", status: 404 }));
    expect(findLeaks(recorded, SECRETS)).toEqual([]);
  });

  it("contains no secret if the connection fails, hangs or is refused", async () => {
    const server = await startServer();
    server.plan(faults.dropped(), { times: always });
    await expectNoLeak(server);
    server.clearPlans();
    server.plan(faults.hang({ applies: false }), { times: always });
    await expectNoLeak(server, { timeoutMs: 60, retry: false });
    server.clearPlans();
    server.plan(faults.tooLarge(5_000), { on: isNotToken, times: always });
    await expectNoLeak(server, { maxResponseBytes: 4_000 });
    await server.refuseConnections();
    await expectNoLeak(server);
  });

  it("contains no secret if a token store fails or a hook throws", async () => {
    const server = await startServer();
    const boom = () => {
      throw new Error(ECHO);
    };
    await expectNoLeak(server, {
      tokenStore: { get: async () => boom(), set: async () => boom(), delete: async () => boom() },
    });
    const { recorded, logger } = recorder();
    const client = connect(server, { logger, hooks: { request: boom, token: boom } });
    await client.items.get("BOLT", { onResponse: boom });
    expect(recorded.join("\n")).toContain("threw");
    expect(findLeaks(recorded, SECRETS)).toEqual([]);
  });
});
