import type { ServerResponse } from "node:http";
import { nodeUtil, nodeZlib } from "../../runtime/node-modules.js";
import type { SandboxRequest } from "../http/request.js";
import { bodyToBytes, type SandboxResponse, truncatedBodyLength } from "../http/response.js";
import { delayUnlessAborted } from "../time.js";

interface SendResponseOptions {
  readonly acceptsGzip: boolean;
  readonly request: Pick<SandboxRequest, "signal">;
}

/** Sends the response over HTTP, or breaks the connection if a fault requires it. */
export async function sendNodeResponse(
  response: SandboxResponse,
  outgoing: ServerResponse,
  { acceptsGzip, request }: SendResponseOptions,
): Promise<void> {
  const { status, headers, body, delivery } = response;
  switch (delivery.kind) {
    case "drop":
      outgoing.socket?.resetAndDestroy();
      return;
    case "hang":
      return;
    case "whole":
      if (acceptsGzip && body.length >= MIN_LENGTH_TO_COMPRESS) {
        const packed = await gzip(body);
        const encoding = { "content-encoding": "gzip", vary: "Accept-Encoding" };
        outgoing.writeHead(status, { ...headers, ...encoding, "content-length": packed.length }).end(packed);
      } else {
        const length = status === 204 || status === 304 ? {} : { "content-length": bodyToBytes(body).length };
        outgoing.writeHead(status, { ...headers, ...length }).end(body);
      }
      return;
    case "slow":
      outgoing.writeHead(status, { ...headers, "content-length": bodyToBytes(body).length });
      return sendSlowly(bodyToBytes(body), outgoing, delivery, request.signal);
    case "truncated":
      return sendTruncated(bodyToBytes(body), outgoing, response, delivery.bytes);
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
    await delayUnlessAborted(delayMs, signal);
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
  const part = body.subarray(0, truncatedBodyLength(body.length, bytes));
  outgoing.writeHead(status, { ...headers, "content-length": Math.max(body.length, 1) });
  outgoing.flushHeaders();
  outgoing.write(part, () => outgoing.destroy());
}

const FASTEST_GZIP_OPTIONS = { level: 1 };

/** Below this, compressing costs more than it saves. */
const MIN_LENGTH_TO_COMPRESS = 2048;

/** The body as gzip, compressed on another thread. */
function gzip(body: string): Promise<Uint8Array> {
  if (!nodeUtil || !nodeZlib) throw new Error("this runtime has no node:zlib");
  return nodeUtil.promisify<string, { level: number }, Uint8Array>(nodeZlib.gzip)(body, FASTEST_GZIP_OPTIONS);
}
