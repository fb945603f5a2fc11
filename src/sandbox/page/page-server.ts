import type { IncomingMessage, ServerResponse } from "node:http";
import document from "../../../openapi.json" with { type: "json" };
import { nodeNet } from "../../shared/node-modules.js";
import { messageOf } from "../../shared/unknown.js";
import type { LoggedRequest, StockTransaction } from "../activity.js";
import { SERVICE_BASE_PATH } from "../http/messages.js";
import { completeFaultRule } from "../options/fault-rule.js";
import type { SandboxService } from "../service.js";
import { renderPageHtml } from "./html.js";

const MAX_SHOWN_TRANSACTIONS = 50;

const noStoreHeaders = (type: string) => ({
  "content-type": `${type}; charset=utf-8`,
  "cache-control": "no-store",
});

const PAGE_HTML_HEADERS = {
  ...noStoreHeaders("text/html"),
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
};

const UNTRUSTED_HOST_MESSAGE =
  "Open the page as localhost, or under the address that the sandbox listens on (--host).\n";

/** The OpenAPI document, with this sandbox as its server. */
const openApiJson = () =>
  JSON.stringify({ ...document, servers: [{ url: SERVICE_BASE_PATH, description: "This sandbox." }] });

/** A browser sends this header to another site only if that site allows it, which the sandbox never does. */
const PAGE_REQUEST_HEADER = "x-stocklot-page";

const MAX_ACTION_BODY_BYTES = 10_000;

/**
 * The web page at `/`, the stream that keeps it up to date, its buttons, and the OpenAPI document. None is a request of the
 * service.
 */
export class PageServer {
  readonly #host: string;
  readonly #transactions: StockTransaction[] = [];
  readonly #feed: PageEventFeed;
  readonly #stopWatching: () => void;
  /** By path, what a browser can read. */
  readonly #pages: Readonly<Record<string, (response: ServerResponse) => void>>;
  /** By path, what a button does. */
  readonly #actions: Readonly<Record<string, (body: unknown) => void>>;

  /** @param host the address that the server listens on */
  constructor(service: SandboxService, host: string) {
    this.#host = host;
    this.#feed = new PageEventFeed(() => takePageSnapshot(service, this.#transactions));
    this.#pages = {
      "/": (response) =>
        response.writeHead(200, PAGE_HTML_HEADERS).end(renderPageHtml(service.settings.clients[0], SERVICE_BASE_PATH)),
      "/page/events": (response) => this.#feed.addListener(response),
      "/openapi.json": (response) => response.writeHead(200, noStoreHeaders("application/json")).end(openApiJson()),
      "/favicon.ico": (response) => response.writeHead(204).end(),
    };
    this.#actions = {
      "/page/reset": () => service.reset(),
      "/page/add-fault": (body) => service.current.faults.add(completeFaultRule(body)),
      "/page/clear-faults": () => service.current.faults.clear(),
    };
    this.#stopWatching = service.listeners.add({
      request: () => this.#feed.scheduleUpdate(),
      transaction: (transaction) => {
        this.#transactions.unshift(transaction);
        this.#transactions.length = Math.min(this.#transactions.length, MAX_SHOWN_TRANSACTIONS);
        this.#feed.scheduleUpdate();
      },
      reset: () => {
        this.#transactions.length = 0;
        this.#feed.scheduleUpdate();
      },
    });
  }

  handles({ method, url = "" }: IncomingMessage): boolean {
    return Object.hasOwn(method === "POST" ? this.#actions : method === "GET" ? this.#pages : {}, url);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { method, url = "", headers } = request;
    if (!isTrustedHost(headers.host, this.#host))
      response.writeHead(403, noStoreHeaders("text/plain")).end(UNTRUSTED_HOST_MESSAGE);
    else if (method === "POST") void this.#act(request, response);
    else this.#pages[url]?.(response);
  }

  async #act(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", headers } = request;
    try {
      if (headers[PAGE_REQUEST_HEADER] === undefined) throw new TypeError("Only the page may send this request.");
      this.#actions[url]?.(await readActionBody(request));
      this.#feed.scheduleUpdate();
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(400, noStoreHeaders("text/plain")).end(messageOf(error));
    }
  }

  close(): void {
    this.#stopWatching();
    this.#feed.close();
  }
}

const MAX_SHOWN_REQUESTS = 50;

/** What the page shows. The latest requests and transactions come first. */
function takePageSnapshot(service: SandboxService, transactions: readonly StockTransaction[]) {
  const { requests, settings } = service;
  const { state, access, faults } = service.current;
  return {
    warehouses: [...state.warehouses].map(([wID, name]) => ({ wID, name, ...state.lots.stock.summary(wID) })),
    requests: requests.slice(-MAX_SHOWN_REQUESTS).reverse().map(withRequestId),
    transactions,
    rate: access.rateWindow?.usages(service.now()) ?? [],
    intervalMs: settings.rateLimit ? settings.rateLimit.intervalMs : 0,
    faults: faults.descriptions,
  };
}

const requestIds = new WeakMap<LoggedRequest, number>();
let lastRequestId = 0;

/** The page keeps the body of a request open while further requests arrive, so it has to recognise it. */
function withRequestId(logged: LoggedRequest): LoggedRequest & { id: number } {
  const id = requestIds.get(logged) ?? ++lastRequestId;
  requestIds.set(logged, id);
  return { ...logged, id };
}

async function readActionBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MAX_ACTION_BODY_BYTES) throw new TypeError("The request is too large.");
  }
  return JSON.parse(text);
}

/** Changes within this time are shown together. */
const EVENT_BATCH_MS = 150;

/** The rate window empties by itself, so the page is refreshed even when nothing happens. */
const PAGE_REFRESH_MS = 2000;

/** Sends what the page shows to every browser that listens, as server-sent events. Sets no timer while none listens. */
class PageEventFeed {
  readonly #listeners = new Set<ServerResponse>();
  #batchTimer: NodeJS.Timeout | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;

  readonly #read: () => unknown;

  constructor(read: () => unknown) {
    this.#read = read;
  }

  addListener(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    this.#listeners.add(response);
    response.once("close", () => {
      this.#listeners.delete(response);
      if (this.#listeners.size === 0) this.close();
    });
    this.#refreshTimer ??= setInterval(() => this.#send(), PAGE_REFRESH_MS);
    this.#send();
  }

  scheduleUpdate(): void {
    if (this.#listeners.size > 0) this.#batchTimer ??= setTimeout(() => this.#send(), EVENT_BATCH_MS);
  }

  close(): void {
    clearTimeout(this.#batchTimer);
    clearInterval(this.#refreshTimer);
    this.#batchTimer = undefined;
    this.#refreshTimer = undefined;
    for (const listener of this.#listeners) listener.destroy();
    this.#listeners.clear();
  }

  #send(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    const event = `data: ${JSON.stringify(this.#read())}\n\n`;
    for (const listener of this.#listeners) listener.write(event);
  }
}

/**
 * Whether a request with this `Host` header may see the page. Any other web site could point a name of its own at this
 * address (DNS rebinding) and read the page with its visitors' browsers; addresses and loopback names cannot be
 * pointed elsewhere.
 *
 * @param listening the address that the server listens on
 */
function isTrustedHost(header: string | undefined, listening: string): boolean {
  const host = parseHostHeader(header);
  if (host === undefined) return false;
  if (host === listening.toLowerCase() || isLoopbackHost(host)) return true;
  return ALL_INTERFACES_ADDRESSES.has(listening) && ipVersion(host) !== 0;
}

const ALL_INTERFACES_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** The host without its port and brackets, in lower case. */
function parseHostHeader(header = ""): string | undefined {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^\s:@/[\]]+))(?::\d+)?$/i.exec(header) ?? [];
  return (bracketed ?? plain)?.toLowerCase();
}

function isLoopbackHost(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return host === "::1" || (ipVersion(host) === 4 && host.startsWith("127."));
}

/** 4 or 6; 0 if the host is a name. */
const ipVersion = (host: string) => nodeNet?.isIP(host) ?? 0;
