import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { nodeHttp, nodeUtil, nodeZlib } from "../../shared/node-modules.js";
import {
  BODILESS_STATUSES,
  bodyPieces,
  bodyToBytes,
  type SandboxRequest,
  type SandboxResponse,
  SERVICE_BASE_PATH,
} from "../http/messages.js";
import { PageServer } from "../page/page-server.js";
import type { SandboxService } from "../service.js";

/** Options of `sandbox.listen`. */
export interface ListenOptions {
  /** TCP port; 0 for any free port. @default 0 */
  port?: number | undefined;
  /** Address to listen on. @default "127.0.0.1" */
  host?: string | undefined;
  /**
   * Serve a web page at `/` that shows stock, requests and transactions live. Browsers must open it as localhost or
   * under the address of `host`; the service itself is served under any name.
   * @default false
   */
  page?: boolean | undefined;
}

/** A sandbox that listens on HTTP. */
export interface SandboxServer {
  /** The complete base URL, ending in `/api/v1`: ready for the client's `baseUrl`. */
  readonly url: string;
  /** The TCP port that it listens on. */
  readonly port: number;
  /** Stops listening and closes all connections immediately, also those with a request in flight. */
  close(): Promise<void>;
}

/** Rejects with Node's own error, for example `EADDRINUSE` when the port is taken. */
export async function startSandboxServer(
  service: SandboxService,
  { port = 0, host = "127.0.0.1", page = false }: ListenOptions = {},
): Promise<SandboxServer> {
  if (!nodeHttp) throw new Error("sandbox.listen: this runtime has no node:http. Use sandbox.fetch.");
  const site = page ? new PageServer(service, host) : undefined;
  const server = nodeHttp.createServer((request, response) => {
    if (site?.handles(request)) return site.handle(request, response);
    serveNodeRequest(service, request, response).catch(() => response.destroy());
  });
  // Above the idle timeout of common clients, so that the client closes the connection.
  server.keepAliveTimeout = 65_000;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address();
      const actual = typeof address === "object" && address ? address.port : port;
      resolve({
        url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}${SERVICE_BASE_PATH}`,
        port: actual,
        close: () => stopSandboxServer(service, server, site),
      });
    });
  });
}

function stopSandboxServer(service: SandboxService, server: Server, site: PageServer | undefined): Promise<void> {
  service.hanging.endAll();
  site?.close();
  return new Promise((closed) => {
    server.close(() => closed());
    server.closeAllConnections();
  });
}

async function serveNodeRequest(
  service: SandboxService,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = toSandboxRequest(incoming, outgoing, await readRequestBody(incoming));
  const acceptsGzip = service.settings.compression && /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  await sendNodeResponse(await service.handle(request), outgoing, request.signal, acceptsGzip);
}

function toSandboxRequest(incoming: IncomingMessage, outgoing: ServerResponse, body: string): SandboxRequest {
  const caller = new AbortController();
  if (outgoing.destroyed) caller.abort();
  else outgoing.once("close", () => caller.abort());
  return {
    method: incoming.method ?? "GET",
    target: toOriginForm(incoming.url ?? "/"),
    headers: new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
    body,
    address: incoming.socket.remoteAddress ?? "",
    signal: caller.signal,
  };
}

/** The path and query of an absolute-form target, as sent to proxies. */
function toOriginForm(target: string): string {
  return target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}

/** The whole body, decoded as UTF-8. Rejects if the client disconnects before its end. */
async function readRequestBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  return body;
}

/** Sends the response over HTTP, or breaks the connection if a fault requires it. */
async function sendNodeResponse(
  response: SandboxResponse,
  outgoing: ServerResponse,
  signal: AbortSignal,
  acceptsGzip: boolean,
): Promise<void> {
  const { status, headers, body, delivery } = response;
  switch (delivery.kind) {
    case "drop":
      outgoing.socket?.resetAndDestroy();
      return;
    case "whole":
      if (acceptsGzip && typeof body === "string" && body.length >= MIN_LENGTH_TO_COMPRESS) {
        const packed = await gzip(body);
        const encoding = { "content-encoding": "gzip", vary: "Accept-Encoding" };
        outgoing.writeHead(status, { ...headers, ...encoding, "content-length": packed.length }).end(packed);
      } else {
        const length = BODILESS_STATUSES.has(status) ? {} : { "content-length": bodyToBytes(body).length };
        outgoing.writeHead(status, { ...headers, ...length }).end(body);
      }
      return;
    case "slow":
    case "truncated":
      return sendPieces(response, outgoing, signal);
  }
}

/** Declares the length of the whole body, and breaks the connection once the pieces are sent if they are not all of it. */
async function sendPieces(response: SandboxResponse, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  const isTruncated = response.delivery.kind === "truncated";
  const length = Math.max(bodyToBytes(response.body).length, isTruncated ? 1 : 0);
  outgoing.writeHead(response.status, { ...response.headers, "content-length": length });
  outgoing.flushHeaders();
  for await (const piece of bodyPieces(response, signal)) {
    await new Promise<unknown>((written) => outgoing.write(piece, written));
  }
  if (isTruncated) outgoing.destroy();
  else outgoing.end();
}

/** Below this, compressing costs more than it saves. */
const MIN_LENGTH_TO_COMPRESS = 2048;

/** The body as gzip, compressed on another thread, as fast as possible. */
function gzip(body: string): Promise<Uint8Array> {
  if (!nodeUtil || !nodeZlib) throw new Error("this runtime has no node:zlib");
  return nodeUtil.promisify<string, { level: number }, Uint8Array>(nodeZlib.gzip)(body, { level: 1 });
}
