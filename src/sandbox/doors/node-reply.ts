import type { ServerResponse } from "node:http";
import type { SandboxRequest } from "../http/incoming.js";
import type { SandboxResponse } from "../http/reply.js";
import { sleep } from "../timing.js";
import { toBytes, truncatedLength } from "./body-bytes.js";
import { gzipBody, isWorthCompressing } from "./compressor.js";

interface SendOptions {
  /** Whether the caller takes gzip. */
  readonly gzip: boolean;
  readonly incoming: Pick<SandboxRequest, "signal">;
}

/** Sends the reply over a real connection, or breaks the connection where a fault says so. */
export async function sendResponse(
  reply: SandboxResponse,
  response: ServerResponse,
  { gzip, incoming }: SendOptions,
): Promise<void> {
  const { status, headers, body, delivery } = reply;
  switch (delivery.kind) {
    case "drop":
      response.socket?.resetAndDestroy();
      return;
    case "hang":
      return;
    case "whole":
      if (gzip && isWorthCompressing(body)) {
        const packed = await gzipBody(body);
        const encoding = { "content-encoding": "gzip", vary: "Accept-Encoding" };
        response.writeHead(status, { ...headers, ...encoding, "content-length": packed.length }).end(packed);
      } else {
        const length = status === 204 || status === 304 ? {} : { "content-length": Buffer.byteLength(body) };
        response.writeHead(status, { ...headers, ...length }).end(body);
      }
      return;
    case "slow":
      response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
      return sendSlowly(toBytes(body), response, delivery, incoming.signal);
    case "truncated":
      return sendTruncated(toBytes(body), response, reply, delivery.bytes);
  }
}

async function sendSlowly(
  body: Buffer,
  response: ServerResponse,
  { delayMs, chunkBytes }: { delayMs: number; chunkBytes: number },
  signal: AbortSignal,
): Promise<void> {
  response.flushHeaders();
  for (let position = 0; position < body.length; position += chunkBytes) {
    await sleep(delayMs, signal);
    if (signal.aborted) return;
    response.write(body.subarray(position, position + chunkBytes));
  }
  response.end();
}

/** Announces the whole body, sends some of it, and breaks the connection once that has left. */
function sendTruncated(
  body: Buffer,
  response: ServerResponse,
  { status, headers }: SandboxResponse,
  bytes: number | undefined,
): void {
  const part = body.subarray(0, truncatedLength(body.length, bytes));
  response.writeHead(status, { ...headers, "content-length": Math.max(body.length, 1) });
  response.flushHeaders();
  response.write(part, () => response.destroy());
}
