import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type ClientOptions, InventoryClient, type Item, type Lot, type StockLevel } from "../../src/index.js";

export const BASE_URL = "https://inventory.test/api/v1";
export const CREDENTIALS = { clientId: "scanner", clientSecret: "canary-secret-0123456789" };

export const ITEM: Item = {
  partNo: 7,
  shortID: "BOLT-M8",
  description: "Bolt M8 × 40",
  category: 3,
  subCategory: 31,
  uOM: "EA",
  putUp: "Box",
  units: 50,
  dfltOwner: 0,
  created: "2026-01-01T00:00:00Z",
  modified: "2026-02-01T00:00:00Z",
  discontinued: false,
};

export const LOT: Lot = {
  recNo: 11,
  partNo: 7,
  shortID: "BOLT-M8",
  description: "Bolt M8 × 40",
  associate: "",
  warehouse: "Main",
  wID: 3,
  spot: "A-01",
  units: 12.5,
  received: "2026-02-01T00:00:00Z",
  shipped: null,
  serial: "S1",
  serial2: null,
  rFIDTag: null,
  remark: "",
  hold: false,
  jobID: 0,
  jobName: null,
  active: true,
};

export const LEVEL: StockLevel = {
  partNo: 7,
  available: 10,
  inStock: 12.5,
  onOrder: 0,
  onHold: 2.5,
  committed: 0,
  packed: 0,
  aSN: 0,
};

export const envelope = <T>(value: T[], overrides: object = {}) => ({
  value,
  totalCount: value.length,
  page: 1,
  pageSize: 250,
  pageCount: 1,
  hasMore: false,
  ...overrides,
});

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
