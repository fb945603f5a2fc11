import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { ClientOptions, InventoryClient } from "../../src/index.js";
import { closeAfterTest, connect } from "../support/with-server.js";

/** Starts an HTTP server on a free port of the loopback address. It is closed after the test. */
export async function listen(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  closeAfterTest({ close });
  const { port } = server.address() as AddressInfo;
  return { server, port, origin: `http://127.0.0.1:${port}` };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A client of a new server that issues tokens; the handler responds to all other requests. `host` is the server's name. */
export async function clientOf(
  handler: Handler,
  { host = "127.0.0.1", ...options }: ClientOptions & { host?: string } = {},
): Promise<{ client: InventoryClient; requests: IncomingMessage[]; origin: string }> {
  const requests: IncomingMessage[] = [];
  const { port } = await listen((request, response) => {
    if (request.url === "/api/v1/Token") {
      request.resume();
      response.end('{"access_token":"canary-token-0123456789","token_type":"bearer","expires_in":3600}');
      return;
    }
    requests.push(request);
    handler(request, response);
  });
  const origin = `http://${host}:${port}`;
  return { client: connect({ baseUrl: `${origin}/api/v1` }, options), requests, origin };
}

/** A server whose connections the test handles. It is closed after the test, and so are its connections. */
export async function listenRaw(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  const port = await listenOn(server, "127.0.0.1");
  closeAfterTest({ close: async () => sockets.forEach((socket) => void socket.destroy()) });
  return { sockets, port, origin: `http://127.0.0.1:${port}` };
}

/** Starts a server on a free port of a host, and returns the port. It accepts no connections after the test. */
export async function listenOn(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closeAfterTest({ close: async () => void server.close() });
  return (server.address() as AddressInfo).port;
}
