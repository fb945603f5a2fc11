import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { nodeHttp } from "../../shared/node-modules.js";
import {
  BODILESS_STATUSES,
  bodyPieces,
  bodyToBytes,
  type SandboxRequest,
  type SandboxResponse,
  SERVICE_BASE_PATH,
} from "../http/messages.js";
import type { SandboxService } from "../service.js";

/** Options of `sandbox.listen`. */
export interface ListenOptions {
  /** TCP port; 0 for any free port. @default 0 */
  port?: number | undefined;
  /** Address to listen on. @default "127.0.0.1" */
  host?: string | undefined;
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
  { port = 0, host = "127.0.0.1" }: ListenOptions = {},
): Promise<SandboxServer> {
  if (!nodeHttp) throw new Error("sandbox.listen: this runtime has no node:http. Use sandbox.fetch.");
  const server = nodeHttp.createServer((request, response) => {
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
        close: () => stopSandboxServer(server),
      });
    });
  });
}

function stopSandboxServer(server: Server): Promise<void> {
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
  await sendNodeResponse(await service.handle(request), outgoing, request.signal);
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
): Promise<void> {
  const { status, headers, body, delivery } = response;
  switch (delivery.kind) {
    case "drop":
      outgoing.socket?.resetAndDestroy();
      return;
    case "whole": {
      const length = BODILESS_STATUSES.has(status) ? {} : { "content-length": bodyToBytes(body).length };
      outgoing.writeHead(status, { ...headers, ...length }).end(body);
      return;
    }
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
