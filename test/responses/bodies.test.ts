import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ResponseValidationError } from "../../src/index.js";
import { clientOf } from "../connection/server.js";
import { ITEM } from "../support/records.js";
import { RUN_ALL } from "../support/runs.js";
import { errorOf, RECEIPT, TRANSPORTS } from "../support/with-server.js";

const body = JSON.stringify({ ...ITEM, description: "Schräube ✓ ".repeat(100) });

describe("a compressed response", () => {
  it("is requested", async () => {
    const { client, requests } = await clientOf((_, response) => response.end(body));
    await client.items.get("X");
    expect(requests[0]?.headers["accept-encoding"]).toBe("gzip, br");
  });

  it.each([
    ["gzip", gzipSync(body)],
    ["x-gzip", gzipSync(body)],
    ["GZIP", gzipSync(body)],
    ["br", brotliCompressSync(body)],
    ["deflate", deflateSync(body)],
    ["identity", Buffer.from(body)],
    ["gzip, br", brotliCompressSync(gzipSync(body))],
  ])("in %s is decoded", async (encoding, bytes) => {
    const { client } = await clientOf((_, response) => {
      response.setHeader("content-encoding", encoding);
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      response.end();
    });
    expect(await client.items.get("X")).toEqual(JSON.parse(body));
  });

  it.each([
    ["is broken", "gzip", gzipSync(body).fill(7, 20, 30)],
    ["is cut", "br", brotliCompressSync(body).subarray(0, 40)],
    ["is of an unknown coding", "zstd9", Buffer.from(body)],
  ])("that %s is a ResponseValidationError", async (_, encoding, bytes) => {
    const { client } = await clientOf((_request, response) => {
      response.setHeader("content-encoding", encoding);
      response.end(bytes);
    });
    await expect(client.items.get("X")).rejects.toThrow(ResponseValidationError);
  });

  it("may be empty", async () => {
    const { client } = await clientOf((_, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end();
    });
    expect(await client.inventory.receive(RECEIPT)).toEqual({});
  });
});

describe("maxResponseBytes", () => {
  const large = JSON.stringify({ ...ITEM, description: "x".repeat(5_000) });

  it.each<[string, (text: string) => [Record<string, string>, Buffer]]>([
    ["with a content-length", (text) => [{ "content-length": String(text.length) }, Buffer.from(text)]],
    ["in chunks", (text) => [{}, Buffer.from(text)]],
    ["that is small until it is decompressed", (text) => [{ "content-encoding": "gzip" }, gzipSync(text)]],
  ])("refuses a larger response %s, and accepts one that fits", async (_, make) => {
    const [headers, bytes] = make(large);
    const handler: Parameters<typeof clientOf>[0] = (_request, response) => {
      response.writeHead(200, headers);
      response.end(bytes);
    };
    const small = await clientOf(handler, { maxResponseBytes: 1_000 });
    const error = await errorOf(small.client.items.get("X"));
    expect(error).toBeInstanceOf(ResponseValidationError);
    expect(String(error)).toContain("maxResponseBytes");
    const wide = await clientOf(handler, { maxResponseBytes: large.length });
    expect(await wide.client.items.get("X")).toEqual(JSON.parse(large));
  });

  it.each(
    TRANSPORTS,
  )("is all that is read of an error response without an end: its status is enough, by %s", async (_, options) => {
    let closed: Promise<unknown> | undefined;
    const { client } = await clientOf(
      (_request, response: ServerResponse) => {
        closed = once(response, "close");
        response.writeHead(500).write("<p>Out of order.</p>");
        const fill = () => void (response.destroyed || response.write("x".repeat(10_000), fill));
        fill();
      },
      { retry: false, maxResponseBytes: 100_000, timeoutMs: Infinity, ...options },
    );
    expect(await errorOf(client.items.get("X"))).toMatchObject({
      name: "ServerError",
      status: 500,
      serviceMessage: "",
    });
    await closed;
  });

  it.skipIf(!RUN_ALL)("is all that is decompressed of an error response", async () => {
    const bytes = gzipSync(`<p>Out of order.</p>${" ".repeat(30_000_000)}`);
    const { client } = await clientOf(
      (_, response) => response.writeHead(500, { "content-encoding": "gzip" }).end(bytes),
      { retry: false },
    );
    expect(await errorOf(client.items.get("X"))).toMatchObject({ status: 500, serviceMessage: "" });
  });
});
