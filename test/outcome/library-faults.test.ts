import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConnectionError, OutcomeUnknownError } from "../../src/index.js";
import { clientOf, listenRaw } from "../connection/server.js";
import { ITEM } from "../support/records.js";
import { connect, errorOf, QUICK, RECEIPT, storedToken, TRANSPORTS } from "../support/with-server.js";

const withToken = { retry: { ...QUICK, maxRetries: 2 }, tokenStore: storedToken };

/** Starts a server that responds to each request with a text, and then ends the connection in the given way. */
async function respondingWith(text: string, end: "close" | "reset") {
  let requests = 0;
  const { origin } = await listenRaw((socket: Socket) =>
    socket.once("data", async () => {
      requests += 1;
      socket.write(text);
      // The client needs time to receive the text, because a reset would discard it.
      await sleep(30);
      if (end === "reset") socket.resetAndDestroy();
      else socket.end();
    }),
  );
  return { baseUrl: `${origin}/api/v1`, requests: () => requests };
}

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

describe("a body without a length", () => {
  it.each(["123", '{"recNo":123}', "received", ""])("%j that ends in a reset is not complete", async (body) => {
    const server = await respondingWith(`${HEAD}\r\n${body}`, "reset");
    const client = connect(server, withToken);
    const error = await errorOf(client.inventory.receive(RECEIPT));
    expect(error).toMatchObject({ name: "OutcomeUnknownError", status: 200, applied: "unknown" });
    expect(server.requests()).toBe(1);
    expect(await errorOf(client.items.get("X"))).toBeInstanceOf(ConnectionError);
    expect(server.requests()).toBe(4);
  });

  it.each([
    "transfer-encoding: chunked\r\n\r\n3\r\n123",
    "content-length: 5\r\n\r\n123",
  ])("nor is one that ends before its end was shown (%j)", async (rest) => {
    for (const end of ["reset", "close"] as const) {
      const server = await respondingWith(`${HEAD}${rest}`, end);
      const error = await errorOf(connect(server, withToken).inventory.receive(RECEIPT));
      expect(error).toBeInstanceOf(OutcomeUnknownError);
    }
  });

  it("is complete after an orderly end", async () => {
    const server = await respondingWith(`${HEAD}\r\n${JSON.stringify(ITEM)}`, "close");
    expect(await connect(server, withToken).items.get("X")).toEqual(ITEM);
  });

  it("of one connection says nothing of another one's", async () => {
    const body = JSON.stringify(ITEM);
    const { origin } = await listenRaw((socket) =>
      socket.once("data", async (request) => {
        socket.write(`${HEAD}\r\n${body}`);
        await sleep(30);
        if (String(request).includes("key=RESET")) socket.resetAndDestroy();
        else socket.end();
      }),
    );
    const client = connect({ baseUrl: `${origin}/api/v1` }, { ...withToken, retry: false });
    const settled = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) => client.items.get(index % 2 ? "RESET" : "X")),
    );
    expect(settled.map(({ status }) => status)).toEqual(
      Array.from({ length: 12 }, (_, index) => (index % 2 ? "rejected" : "fulfilled")),
    );
  });

  it.each(TRANSPORTS)("may be cut: a number in it is no recNo, by %s", async (_, transport) => {
    const of = async (body: string) => {
      const server = await respondingWith(`${HEAD}\r\n${body}`, "close");
      return errorOr(connect(server, { ...withToken, ...transport }).inventory.receive(RECEIPT));
    };
    expect(await of("123")).toEqual({ body: 123 });
    expect(await of('{"recNo":123}')).toEqual({ recNo: 123, body: { recNo: 123 } });
    expect(await of('"123"')).toEqual({ recNo: 123, body: "123" });
    expect(await of("")).toEqual({});
    expect(await of('{"recNo":123')).toBeInstanceOf(OutcomeUnknownError);
  });

  it.each(TRANSPORTS)("is not one of a response that has a length, by %s", async (_, transport) => {
    const { client } = await clientOf((_request, response) => response.end("12345"), transport);
    expect(await client.inventory.receive(RECEIPT)).toEqual({ recNo: 12_345, body: 12_345 });
    const chunked = await clientOf((_request, response) => {
      response.write("12");
      response.end("345");
    }, transport);
    expect(await chunked.client.inventory.receive(RECEIPT)).toEqual({ recNo: 12_345, body: 12_345 });
  });

  it("is whole if the response was made in memory", async () => {
    const client = connect(
      { baseUrl: "https://inventory.test/api/v1" },
      { ...withToken, fetch: async () => new Response("12345") },
    );
    expect(await client.inventory.receive(RECEIPT)).toEqual({ recNo: 12_345, body: 12_345 });
  });
});

const errorOr = (call: Promise<unknown>) => call.catch((error: unknown) => error);

describe.each(TRANSPORTS)("what undici cannot read has words of its own, by %s:", (_, transport) => {
  it.each([
    ["100 Continue", "HTTP/1.1 100 Continue\r\n\r\n", /100 Continue.*not asked for.*proxy in front/],
    [
      "101 Switching Protocols",
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      /101 Switching Protocols.*not asked for/,
    ],
    [
      "headers of more than 16 KiB",
      `HTTP/1.1 200 OK\r\nset-cookie: ${"x".repeat(20_000)}\r\n\r\n`,
      /headers of the response are larger.*16 KiB.*maxHeaderSize/,
    ],
  ])("%s", async (_name, text, words) => {
    const server = await respondingWith(`${text}${HEAD}content-length: 2\r\n\r\n{}`, "close");
    const client = connect(server, { ...withToken, ...transport });
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(String(error)).toMatch(words);
    expect(String(error)).not.toContain("connection broke");
    expect(server.requests()).toBe(1);
    const unknown = await errorOf(client.inventory.receive(RECEIPT));
    expect(unknown).toBeInstanceOf(OutcomeUnknownError);
    expect(String(unknown)).toMatch(words);
  });
});

it("an error response of msw is a failure of the network: a read is retried, a write may have been applied", async () => {
  let calls = 0;
  const server = setupServer(
    http.all("https://inventory.test/*", () => {
      calls += 1;
      return HttpResponse.error();
    }),
  );
  server.listen();
  onTestFinished(() => server.close());
  const client = connect({ baseUrl: "https://inventory.test/api/v1" }, { ...withToken, fetch: globalThis.fetch });
  expect(await errorOf(client.items.get("X"))).toBeInstanceOf(ConnectionError);
  expect(calls).toBe(3);
  expect(await errorOf(client.inventory.receive(RECEIPT))).toBeInstanceOf(OutcomeUnknownError);
  expect(calls).toBe(4);
});
