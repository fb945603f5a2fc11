import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";
import { type ClientOptions, InventoryClient } from "../../src/index.js";

export const SECRET = "canary-secret-0123456789";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const running: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.close();
});

/** Starts a server on a free port of the loopback address; it is closed after the test. */
export async function listen(listener: RequestListener): Promise<{ server: Server; port: number; origin: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  running.push({
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
  const { port } = server.address() as AddressInfo;
  return { server, port, origin: `http://127.0.0.1:${port}` };
}

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
  return { client: connect(`${origin}/api/v1`, options), requests, origin };
}

/** A client that is closed after the test. */
export function connect(baseUrl: string, options: ClientOptions = {}): InventoryClient {
  const client = new InventoryClient({ baseUrl, clientId: "scanner", clientSecret: SECRET, ...options });
  running.push(client);
  return client;
}
