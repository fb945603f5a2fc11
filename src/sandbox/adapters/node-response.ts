import type { ServerResponse } from "node:http";
import { nodeUtil, nodeZlib } from "../../runtime/node-modules.js";
import type { SandboxRequest } from "../http/request.js";
import { type SandboxResponse, toBytes, truncatedLength } from "../http/response.js";
import { sleep } from "../time.js";

interface SendOptions {
  /** Whether the client accepts gzip. */
  readonly gzip: boolean;
  readonly request: Pick<SandboxRequest, "signal">;
}

/** Sends the response over HTTP, or breaks the connection if a fault requires it. */
export async function sendResponse(
  response: SandboxResponse,
  outgoing: ServerResponse,
  { gzip, request }: SendOptions,
): Promise<void> {
  const { status, headers, body, delivery } = response;
  switch (delivery.kind) {
    case "drop":
      outgoing.socket?.resetAndDestroy();
      return;
    case "hang":
      return;
    case "whole":
      if (gzip && isWorthCompressing(body)) {
        const packed = await compress(body);
        const encoding = { "content-encoding": "gzip", vary: "Accept-Encoding" };
        outgoing.writeHead(status, { ...headers, ...encoding, "content-length": packed.length }).end(packed);
      } else {
        const length = status === 204 || status === 304 ? {} : { "content-length": toBytes(body).length };
        outgoing.writeHead(status, { ...headers, ...length }).end(body);
      }
      return;
    case "slow":
      outgoing.writeHead(status, { ...headers, "content-length": toBytes(body).length });
      return sendSlowly(toBytes(body), outgoing, delivery, request.signal);
    case "truncated":
      return sendTruncated(toBytes(body), outgoing, response, delivery.bytes);
  }
}

async function sendSlowly(
  body: Uint8Array,
  outgoing: ServerResponse,
  { delayMs, chunkBytes }: { delayMs: number; chunkBytes: number },
  signal: AbortSignal,
): Promise<void> {
  outgoing.flushHeaders();
  for (let position = 0; position < body.length; position += chunkBytes) {
    await sleep(delayMs, signal);
    if (signal.aborted) return;
    outgoing.write(body.subarray(position, position + chunkBytes));
  }
  outgoing.end();
}

/** Declares the length of the whole body, sends part of it, and breaks the connection once that part is sent. */
function sendTruncated(
  body: Uint8Array,
  outgoing: ServerResponse,
  { status, headers }: SandboxResponse,
  bytes: number | undefined,
): void {
  const part = body.subarray(0, truncatedLength(body.length, bytes));
  outgoing.writeHead(status, { ...headers, "content-length": Math.max(body.length, 1) });
  outgoing.flushHeaders();
  outgoing.write(part, () => outgoing.destroy());
}

const FASTEST_LEVEL = { level: 1 };

/** Below this, compressing costs more than it saves. */
const MIN_COMPRESSED_LENGTH = 2048;

/** From this length on, compressing would block other requests for longer than handing it to another thread takes. */
const MIN_ASYNC_LENGTH = 32_768;

type Body = SandboxResponse["body"];

function isWorthCompressing(body: Body): boolean {
  return body.length >= MIN_COMPRESSED_LENGTH;
}

/** The body as gzip: synchronously for an ordinary page, on another thread for a large one. */
async function compress(body: Body): Promise<Uint8Array> {
  if (!nodeUtil || !nodeZlib) throw new Error("this runtime has no node:zlib");
  if (body.length < MIN_ASYNC_LENGTH) return nodeZlib.gzipSync(body, FASTEST_LEVEL);
  return nodeUtil.promisify<Body, { level: number }, Uint8Array>(nodeZlib.gzip)(body, FASTEST_LEVEL);
}
