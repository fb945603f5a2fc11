import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { nodeHttp } from "../../runtime/node-modules.js";
import { type SandboxRequest, SERVICE_BASE_PATH } from "../http/request.js";
import { PageServer } from "../page/page-server.js";
import type { SandboxService } from "../service.js";
import { sendNodeResponse } from "./node-response.js";

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
  const acceptsGzip = service.settings.compression && /\bgzip\b/.test(request.header("accept-encoding") ?? "");
  await sendNodeResponse(await service.handle(request), outgoing, { acceptsGzip, request });
}

function toSandboxRequest(incoming: IncomingMessage, outgoing: ServerResponse, body: string): SandboxRequest {
  const caller = new AbortController();
  if (outgoing.destroyed) caller.abort();
  else outgoing.once("close", () => caller.abort());
  return {
    method: incoming.method ?? "GET",
    target: toOriginForm(incoming.url ?? "/"),
    header: (name) => incoming.headers[name]?.toString() ?? null,
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
