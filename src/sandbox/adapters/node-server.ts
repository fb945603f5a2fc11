import type { IncomingMessage, ServerResponse } from "node:http";
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
    serve(service, request, response).catch(() => response.destroy());
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
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

async function serve(service: SandboxService, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const request = fromIncoming(incoming, outgoing, await readRequestBody(incoming));
  await sendNodeResponse(await service.handle(request), outgoing, request.signal);
}

function fromIncoming(incoming: IncomingMessage, outgoing: ServerResponse, body: string): SandboxRequest {
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

/**
 * Sends the response over HTTP, or breaks the connection if a fault requires it: the declared length is that of the whole
 * body, also if not all of it is sent.
 */
async function sendNodeResponse(response: SandboxResponse, to: ServerResponse, signal: AbortSignal): Promise<void> {
  const { status, headers, body, delivery } = response;
  if (delivery.kind === "drop") return void to.socket?.resetAndDestroy();
  const isTruncated = delivery.kind === "truncated";
  const length = Math.max(bodyToBytes(body).length, isTruncated ? 1 : 0);
  to.writeHead(status, BODILESS_STATUSES.has(status) ? headers : { ...headers, "content-length": length });
  if (delivery.kind === "whole") return void to.end(body);
  to.flushHeaders();
  for await (const piece of bodyPieces(response, signal)) {
    await new Promise<unknown>((written) => to.write(piece, written));
  }
  if (isTruncated) to.destroy();
  else to.end();
}
