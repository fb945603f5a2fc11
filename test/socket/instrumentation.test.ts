import { AsyncLocalStorage } from "node:async_hooks";
import { beforeEach, describe, expect, it } from "vitest";
import { type ClientOptions, type DiagnosticsMessages, type FetchLike, OutcomeUnknownError } from "../../src/index.js";
import { subscribeInTest } from "../support/channels.js";
import { isNotToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { connect, errorOf, SECRET, startServer, waitUntil } from "../support/with-server.js";

beforeEach(useLoopTime);

const quick = { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [5, 6] } as const;

type Message<Name extends "stocklot:attempt" | "stocklot:slot"> = DiagnosticsMessages[Name];
type Sending = Extract<Message<"stocklot:attempt">, { type: "sending" }>;

const onSending = (listener: (message: Sending) => void) =>
  subscribeInTest("stocklot:attempt", (message) => {
    const attempt = message as Message<"stocklot:attempt">;
    if (attempt.type === "sending") listener(attempt);
  });

/** Every message of a channel until the test ends. */
function record<Name extends "stocklot:attempt" | "stocklot:slot">(name: Name): Message<Name>[] {
  const messages: Message<Name>[] = [];
  subscribeInTest(name, (message) => void messages.push(message as Message<Name>));
  return messages;
}

describe.each<[string, ClientOptions]>([
  ["undici", {}],
  ["fetch", { fetch: globalThis.fetch }],
])("an instrumentation over %s", (_, transport) => {
  it("adds headers to each attempt, but replaces none and sets none of the client's", async () => {
    const server = await startServer();
    const client = connect(server, { ...transport, headers: { baggage: "of-the-client" }, retry: quick });
    onSending(({ attempt, setHeader }) => {
      for (const name of ["Traceparent", "Baggage", "Authorization", "Host"]) setHeader(name, `attempt-${attempt}`);
      setHeader("x-broken", "a\r\nb: c");
    });
    server.plan(faults.status(503));
    await client.items.get("BOLT", { headers: { "X-Mine": "1" } });
    const sent = server.requests.filter(isNotToken).map(({ headers }) => headers);
    expect(sent.map(({ traceparent, baggage }) => [traceparent, baggage])).toEqual([
      ["attempt-1", "of-the-client"],
      ["attempt-2", "of-the-client"],
    ]);
    for (const headers of sent) {
      expect(headers.authorization).toMatch(/^Bearer /);
      expect(headers.host).toMatch(/^127\.0\.0\.1/);
      expect(headers).not.toHaveProperty("x-broken");
    }
  });

  it.each<[string, (send: () => void) => void]>([
    [
      "throws before it sends",
      () => {
        throw new Error("a wrong instrumentation");
      },
    ],
    [
      "throws after it has sent",
      (send) => {
        send();
        throw new Error("a wrong instrumentation");
      },
    ],
    ["does not send", () => {}],
    [
      "sends twice",
      (send) => {
        send();
        send();
      },
    ],
  ])("that %s changes nothing", async (_what, run) => {
    const server = await startServer();
    onSending(({ sendWithin }) => sendWithin(run));
    const client = connect(server, transport);
    await client.inventory.receive({ itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 });
    expect(server.requests).toHaveLength(2);
    expect(server.effects("receive")).toBe(1);
  });
});

it("several instrumentations nest their contexts, which end with the sending", async () => {
  const server = await startServer();
  const [outer, inner] = [new AsyncLocalStorage<number>(), new AsyncLocalStorage<number>()];
  onSending(({ attempt, sendWithin }) => sendWithin((send) => inner.run(attempt, send)));
  onSending(({ attempt, sendWithin }) => sendWithin((send) => outer.run(attempt, send)));
  const seen: unknown[] = [];
  const fetch: FetchLike = (url, init) => {
    if (!url.endsWith("/Token")) seen.push([outer.getStore(), inner.getStore()]);
    return globalThis.fetch(url, init);
  };
  const client = connect(server, { fetch, retry: quick });
  server.plan(faults.status(503));
  await client.items.get("BOLT");
  expect(seen).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect([outer.getStore(), inner.getStore()]).toEqual([undefined, undefined]);
});

it("each failed attempt is reported with its type", async () => {
  const server = await startServer();
  const messages = record("stocklot:attempt");
  const client = connect(server, { retry: { ...quick, maxRetries: 1 }, timeoutMs: 300 });
  await client.items.get("BOLT");
  server.plan(faults.dropped()).plan(faults.hang({ applies: false }));
  await errorOf(client.items.get("BOLT"));
  const controller = new AbortController();
  server.plan(faults.hang({ applies: false }));
  const hung = server.requests.length + 1;
  const canceled = errorOf(client.items.get("BOLT", { signal: controller.signal }));
  await waitUntil(() => server.requests.length === hung);
  controller.abort();
  await canceled;
  await server.refuseConnections();
  await errorOf(client.items.get("BOLT", { retry: false }));
  const failures = messages.flatMap((message) => (message.type === "failed" ? [[message.attempt, message.error]] : []));
  expect(failures).toEqual([
    [1, expect.stringMatching(/^(UND_ERR_SOCKET|ECONNRESET)$/)],
    [2, "timeout"],
    [1, "cancelled"],
    [1, "ECONNREFUSED"],
  ]);
  expect(JSON.stringify(messages)).not.toContain(SECRET);
});

it.each<[string, unknown, string]>([
  ["a cause whose code throws", hostile("code"), "exception"],
  [
    "a Proxy",
    new Proxy(new Error("mine"), {
      get: () => {
        throw new Error("hostile");
      },
    }),
    "exception",
  ],
  ["a string", "mine", "exception"],
  ["an error with a name", new RangeError("mine"), "RangeError"],
])("a fetch function that throws %s is reported, and the call fails as without an instrumentation", async (_, thrown, type) => {
  const messages = record("stocklot:attempt");
  const fetch: FetchLike = (url, init) =>
    url.endsWith("/Token") ? globalThis.fetch(url, init) : Promise.reject(thrown);
  const client = connect(await startServer(), { fetch });
  const error = await errorOf(client.inventory.receive({ itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 }));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(messages).toContainEqual(expect.objectContaining({ type: "failed", error: type }));
});

function hostile(name: string): Error {
  return Object.defineProperty(new Error("mine"), name, {
    get() {
      throw new Error("hostile");
    },
  });
}

it("waits for a slot are reported with the client, whose state can be read at any time", async () => {
  const server = await startServer();
  const messages = record("stocklot:slot");
  const client = connect(server, { rateLimit: { requests: 2, reserved: 0, intervalMs: 1_500 } });
  const calls = Promise.all([client.items.get("BOLT"), client.items.get("BOLT"), client.items.get("BOLT")]);
  await waitUntil(() => messages.some(({ type }) => type === "queued"));
  const state = messages[0]?.client;
  expect(state).toMatchObject({ baseUrl: server.baseUrl, closed: false });
  await waitUntil(() => state?.rateLimit.queued === 2);
  await calls;
  const waits = messages.flatMap((message) =>
    message.type === "slot" ? [[message.path, message.waitedMs > 100]] : [],
  );
  expect(waits).toEqual([
    ["/Token", false],
    ["/Item", false],
    ["/Item", true],
    ["/Item", true],
  ]);
  await client.close();
  expect(state?.closed).toBe(true);
});
