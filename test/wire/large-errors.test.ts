import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { RUN_ALL } from "../support/runs.js";
import { errorOf, SECRET, TRANSPORTS } from "../support/with-server.js";
import { clientOf } from "./server.js";

/** A call to a service that responds with an error of this body. */
async function refusal(body: string | Buffer, headers: Record<string, string> = {}, clientSecret = SECRET) {
  const { client } = await clientOf((_, response) => response.writeHead(500, headers).end(body), {
    retry: false,
    clientSecret,
  });
  return () => errorOf(client.items.get("X"));
}

describe("an error response", () => {
  it.each(
    TRANSPORTS,
  )("without an end is not read beyond maxResponseBytes: its status is enough, by %s", async (_, options) => {
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
    const error = await errorOf(client.items.get("X"));
    expect(error).toMatchObject({ name: "ServerError", status: 500, serviceMessage: "" });
    await closed;
  });

  it.skipIf(!RUN_ALL)("is not decompressed further, either", async () => {
    const call = await refusal(gzipSync(`<p>Out of order.</p>${" ".repeat(30_000_000)}`), {
      "content-encoding": "gzip",
    });
    expect(await call()).toMatchObject({ status: 500, serviceMessage: "" });
  });
});

describe("a secret in a long error response is not shown,", () => {
  const long = `canary-${Array.from({ length: 3_000 }, (_, index) => index.toString(36)).join("-")}`;
  const spellings: [string, (secret: string) => string][] = [
    ["as it is", (secret) => secret],
    ["in entities", (secret) => secret.replace(/\W/g, (letter) => `&#x${letter.charCodeAt(0).toString(16)};`)],
    ["in percent escapes", (secret) => secret.replace(/\W/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)],
  ];
  const cases = spellings.flatMap(([name, spell]) => [
    [`${name}, short`, SECRET, spell] as const,
    [`${name}, of ${long.length} characters`, long, spell] as const,
  ]);

  it.each(cases)("%s, wherever the text is cut", async (_, secret, spell) => {
    const escaped = spell(secret);
    const shownParts = [secret.slice(0, 12), spell(secret.slice(0, 12))];
    // The ends of an excerpt, of a message, and of what is searched.
    for (const end of [120, 200, 1_000, 4_000, 9_000]) {
      for (const body of [
        `${"x ".repeat(end / 2 - 8)}${escaped}`,
        `<b>${escaped}</b>`.repeat(Math.ceil(end / escaped.length) + 1),
        JSON.stringify({ message: `${"x ".repeat(end / 2 - 8)}${escaped}` }),
      ]) {
        const call = await refusal(body, {}, secret);
        const text = JSON.stringify(await call());
        for (const part of shownParts) expect(text).not.toContain(part);
      }
    }
  });
});
