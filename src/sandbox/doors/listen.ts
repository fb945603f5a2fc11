import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BASE_PATH } from "../http/incoming.js";
import type { Service } from "../service.js";
import { readBody } from "./node-body.js";
import { NodeIncoming } from "./node-incoming.js";
import { sendReply } from "./node-reply.js";

export interface ListenOptions {
  /** TCP port; 0 takes a free one. @default 0 */
  port?: number;
  /** Address to listen on. @default "127.0.0.1" */
  host?: string;
}

/** A sandbox on real HTTP. */
export interface SandboxServer {
  /** The complete base URL, ending in `/api/v1`: ready for the client's `baseUrl`. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and closes all connections at once, also those with a request in flight. */
  close(): Promise<void>;
}

/** Rejects with Node's own error, for example `EADDRINUSE` when the port is taken. */
export function listen(service: Service, { port = 0, host = "127.0.0.1" }: ListenOptions = {}): Promise<SandboxServer> {
  const server = createServer((request, response) => {
    serve(service, request, response).catch(() => response.destroy());
  });
  // Above the idle time of the usual clients, so that it is they who close a connection.
  server.keepAliveTimeout = 65_000;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const { port: actual } = server.address() as AddressInfo;
      resolve({
        url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}${BASE_PATH}`,
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

async function serve(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const incoming = new NodeIncoming(request, response, await readBody(request));
  const gzip = service.settings.compression && /\bgzip\b/.test(incoming.header("accept-encoding") ?? "");
  await sendReply(await service.handle(incoming), response, { gzip, incoming });
}
