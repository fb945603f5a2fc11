import { afterEach } from "vitest";
import { type ClientOptions, InventoryClient } from "../../src/index.js";

const BASE_URL = "https://inventory.test/api/v1";
export const CREDENTIALS = { clientId: "scanner", clientSecret: "canary-secret-0123456789" };

/** A request as the service received it. */
export interface ReceivedRequest {
  method: string;
  /** Path and query relative to the base URL, as they were sent. */
  target: string;
  headers: Record<string, string>;
  body: string;
}

type Reply = (request: ReceivedRequest, count: number) => Response | Promise<Response>;

/** A service as a fetch function: it issues tokens, and responds to every other request with the reply of the test. */
export function service() {
  const on = {
    /** The requests of the test, without token requests. */
    requests: [] as ReceivedRequest[],
    tokens: 0,
    client(reply: Reply, options: ClientOptions = {}): InventoryClient {
      const fetch = async (url: string, init: RequestInit) => {
        const request = new Request(url, init);
        const received: ReceivedRequest = {
          method: request.method,
          target: request.url.slice(BASE_URL.length),
          headers: Object.fromEntries(request.headers),
          body: await request.text(),
        };
        if (received.target === "/Token") {
          on.tokens += 1;
          return Response.json({ access_token: `token-${on.tokens}`, token_type: "bearer", expires_in: 3600 });
        }
        on.requests.push(received);
        return reply(received, on.requests.length);
      };
      return new InventoryClient({ baseUrl: BASE_URL, ...CREDENTIALS, fetch, ...options });
    },
  };
  afterEach(() => {
    on.requests.length = 0;
    on.tokens = 0;
  });
  return on;
}

export const json =
  (body: unknown, status = 200) =>
  () =>
    Response.json(body, { status });

export const html =
  (body: string, status = 200, type = "text/html; charset=utf-8") =>
  () =>
    new Response(body, { status, headers: { "content-type": type } });
