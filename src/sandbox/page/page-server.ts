import type { IncomingMessage, ServerResponse } from "node:http";
import document from "../../../openapi.json" with { type: "json" };
import { BASE_PATH } from "../http/request.js";
import type { Transaction } from "../listeners.js";
import type { LoggedRequest } from "../request-log.js";
import type { Service } from "../service.js";
import type { WarehouseSummary } from "../store/stock-index.js";
import { EventFeed } from "./event-feed.js";
import { pageHtml } from "./html.js";
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

const PATHS = new Set(["/", "/page/events", "/openapi.json", "/favicon.ico"]);
const ACTIONS = new Set(["/page/reset", "/page/add-fault", "/page/clear-faults"]);

/** A browser sends this header to another site only if that site agrees, which the sandbox never does. */
const OWN_REQUEST = "x-stocklot-page";

const LARGEST_ACTION_BYTES = 10_000;

/**
 * The web page at `/`, the stream that keeps it up to date, its buttons, and the OpenAPI document. None is a request of the
 * service.
 */
export class PageServer {
  private readonly transactions: Transaction[] = [];
  private readonly feed: EventFeed;
  private readonly stopWatching: () => void;

  /** @param host the address that the server listens on */
  constructor(
    private readonly service: Service,
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
    return (method === "GET" && PATHS.has(url)) || (method === "POST" && ACTIONS.has(url));
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { method, url, headers } = request;
    if (!isTrustedHost(headers.host, this.host)) response.writeHead(403, TEXT_HEADERS).end(FOREIGN_HOST);
    else if (method === "POST") void this.act(request, response);
    else if (url === "/page/events") this.feed.join(response);
    else if (url === "/")
      response.writeHead(200, PAGE_HEADERS).end(pageHtml(this.service.settings.clients[0], BASE_PATH));
    else if (url === "/openapi.json") response.writeHead(200, JSON_HEADERS).end(openApi());
    else response.writeHead(204).end();
  }

  /** What a button does. */
  private async act(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url, headers } = request;
    const { faults } = this.service;
    try {
      if (headers[OWN_REQUEST] === undefined) throw new TypeError("This is not a request of the page.");
      const body = await readJson(request);
      if (url === "/page/reset") this.service.reset();
      else if (url === "/page/clear-faults") faults.clear();
      else faults.add(body);
      this.feed.changed();
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(400, TEXT_HEADERS).end(error instanceof Error ? error.message : String(error));
    }
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
  readonly requests: readonly (LoggedRequest & { readonly id: number })[];
  /** Latest first. */
  readonly transactions: readonly Transaction[];
  readonly rate: readonly { readonly key: string; readonly used: number; readonly limit: number }[];
  readonly intervalMs: number;
  /** The active fault rules, in words. */
  readonly faults: readonly string[];
}

function pageSnapshot(service: Service, transactions: readonly Transaction[]): PageSnapshot {
  const { state, access, clock, log, settings, faults } = service;
  return {
    warehouses: [...state.warehouses].map(([wID, name]) => ({ wID, name, ...state.stock.summary(wID) })),
    requests: log.entries.slice(-SHOWN_REQUESTS).reverse().map(withId),
    transactions,
    rate: access.rateUsages(clock.now()).map(({ key, usage }) => ({ key, used: usage.used, limit: usage.limit })),
    intervalMs: settings.rateLimit ? settings.rateLimit.intervalMs : 0,
    faults: faults.descriptions,
  };
}

const ids = new WeakMap<LoggedRequest, number>();
let lastId = 0;

/** The page keeps the body of a request open while further requests arrive, so it has to recognise it. */
function withId(entry: LoggedRequest): LoggedRequest & { id: number } {
  const id = ids.get(entry) ?? ++lastId;
  ids.set(entry, id);
  return { ...entry, id };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > LARGEST_ACTION_BYTES) throw new TypeError("The request is too large.");
  }
  return JSON.parse(text);
}
