import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type ClientOptions, InventoryClient } from "../../src/index.js";

export const BASE_URL = "https://inventory.test/api/v1";
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

/**
 * The service on msw, as far as one test needs it: a token, and one reply to every other request. A request that no handler
 * expects fails the test.
 */
export function service() {
  const server = setupServer();
  const requests: ReceivedRequest[] = [];
  let tokens = 0;
  const state = { reply: (() => HttpResponse.json({})) as Reply };

  beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
  afterAll(() => server.close());
  afterEach(() => {
    requests.length = 0;
    tokens = 0;
  });

  return {
    requests,
    get tokens() {
      return tokens;
    },
    /** Sets the reply, and returns a client. */
    client(reply: Reply, options: ClientOptions = {}): InventoryClient {
      state.reply = reply;
      server.resetHandlers(
        http.all(`${BASE_URL}/*`, async ({ request }) => {
          const entry: ReceivedRequest = {
            method: request.method,
            target: request.url.slice(BASE_URL.length),
            headers: Object.fromEntries(request.headers),
            body: await request.text(),
          };
          if (entry.target === "/Token") {
            tokens += 1;
            return HttpResponse.json({ access_token: `token-${tokens}`, token_type: "bearer", expires_in: 3600 });
          }
          requests.push(entry);
          return state.reply(entry, requests.length);
        }),
      );
      return new InventoryClient({ baseUrl: BASE_URL, ...CREDENTIALS, fetch: globalThis.fetch, ...options });
    },
  };
}

export const json =
  (body: unknown, status = 200) =>
  () =>
    HttpResponse.json(body as object, { status });
