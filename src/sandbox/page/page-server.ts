import type { IncomingMessage, ServerResponse } from "node:http";
import document from "../../../openapi.json" with { type: "json" };
import { BASE_PATH } from "../http/request.js";
import type { Transaction } from "../listeners.js";
import type { LoggedRequest } from "../request-log.js";
import type { Service } from "../service.js";
import type { WarehouseSummary } from "../store/stock-index.js";
import { EventFeed } from "./event-feed.js";
import { PAGE } from "./html.js";
import { isTrustedHost } from "./trusted-host.js";

const SHOWN_TRANSACTIONS = 50;

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
};

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

const TEXT_HEADERS = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

const FOREIGN_HOST = "The page is only served under localhost or the address that the sandbox listens on (--host).\n";

/** The OpenAPI document, with this sandbox as its server. */
const openApi = () => JSON.stringify({ ...document, servers: [{ url: BASE_PATH, description: "This sandbox." }] });

const PATHS = new Set(["/", "/events", "/openapi.json", "/favicon.ico"]);

/**
 * The web page at `/`, the stream that keeps it up to date, and the OpenAPI document. None is a request of the service.
 */
export class PageServer {
  private readonly transactions: Transaction[] = [];
  private readonly feed: EventFeed;
  private readonly stopWatching: () => void;

  /** @param host the address that the server listens on */
  constructor(
    service: Service,
    private readonly host: string,
  ) {
    this.feed = new EventFeed(() => pageSnapshot(service, this.transactions));
    this.stopWatching = service.listeners.add({
      request: () => this.feed.changed(),
      transaction: (transaction) => {
        this.transactions.unshift(transaction);
        this.transactions.length = Math.min(this.transactions.length, SHOWN_TRANSACTIONS);
        this.feed.changed();
      },
      reset: () => {
        this.transactions.length = 0;
        this.feed.changed();
      },
    });
  }

  handles({ method, url = "" }: IncomingMessage): boolean {
    return method === "GET" && PATHS.has(url);
  }

  handle({ url, headers }: IncomingMessage, response: ServerResponse): void {
    if (!isTrustedHost(headers.host, this.host)) response.writeHead(403, TEXT_HEADERS).end(FOREIGN_HOST);
    else if (url === "/events") this.feed.join(response);
    else if (url === "/") response.writeHead(200, PAGE_HEADERS).end(PAGE);
    else if (url === "/openapi.json") response.writeHead(200, JSON_HEADERS).end(openApi());
    else response.writeHead(204).end();
  }

  close(): void {
    this.stopWatching();
    this.feed.close();
  }
}

const SHOWN_REQUESTS = 50;

/** The data of the page. */
export interface PageSnapshot {
  readonly warehouses: readonly (WarehouseSummary & { readonly wID: number; readonly name: string })[];
  /** Latest first. */
  readonly requests: readonly Omit<LoggedRequest, "body">[];
  /** Latest first. */
  readonly transactions: readonly Transaction[];
  readonly rate: readonly { readonly key: string; readonly used: number; readonly limit: number }[];
  readonly intervalMs: number;
}

function pageSnapshot(service: Service, transactions: readonly Transaction[]): PageSnapshot {
  const { state, access, clock, log, settings } = service;
  return {
    warehouses: [...state.warehouses].map(([wID, name]) => ({ wID, name, ...state.stock.summary(wID) })),
    requests: log.entries.slice(-SHOWN_REQUESTS).reverse().map(withoutBody),
    transactions,
    rate: access.rateUsages(clock.now()).map(({ key, usage }) => ({ key, used: usage.used, limit: usage.limit })),
    intervalMs: settings.rateLimit ? settings.rateLimit.intervalMs : 0,
  };
}

function withoutBody({ body: _body, ...entry }: LoggedRequest): Omit<LoggedRequest, "body"> {
  return entry;
}
