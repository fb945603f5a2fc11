import { rememberHeaders, rememberSecret } from "../shared/errors/redaction/secrets.js";
import { VERSION } from "../shared/version.js";
import { createClientSecretReader } from "./auth/client-secret.js";
import { createMemoryTokenStore } from "./auth/token-store.js";
import { createRateLimiter, createUnlimitedRateLimiter } from "./limiter/create-rate-limiter.js";
import type { RateLimiter, RateLimitSnapshot } from "./limiter/rate-limiter.js";
import { pageAllowanceOf } from "./lists/estimate.js";
import type { ListOptions } from "./lists/list.js";
import type { PageAllowance } from "./lists/page.js";
import type { Paginator } from "./lists/paginator.js";
import { createDebugReport } from "./observe/debug-report.js";
import { Telemetry } from "./observe/telemetry.js";
import { type ClientOptions, checkClientOptions, checkRuntime, resolveServiceConnection } from "./options.js";
import { bindMethods } from "./resources/bind-methods.js";
import {
  type CustomList,
  type CustomRequest,
  paginateCustomList,
  sendCustomRequest,
} from "./resources/custom-endpoint.js";
import { Inventory } from "./resources/inventory.js";
import { Items } from "./resources/items.js";
import { createPipeline, type Pipeline } from "./send/pipeline.js";
import { lowerCaseHeaderNames, type RequestOptions } from "./send/request-options.js";
import { DEFAULT_RETRY_SETTINGS, mergeRetryOptions } from "./send/retry-policy.js";
import { createDefaultTransport } from "./transport/default-transport.js";
import { createFetchSender } from "./transport/fetch.js";
import type { Transport, WireSender } from "./transport/transport.js";
import { createUndiciSender } from "./transport/undici.js";

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * The client of the Inventory and Item Catalog Service. It requests and renews its access token, stays within the rate
 * limit, and retries calls that can be retried safely. Create one client per account, and use it for all calls.
 *
 * @example
 * import { InventoryClient } from "stocklot";
 *
 * const client = new InventoryClient({ baseUrl: "https://inventory.example.com/api/v1", clientId: "…", clientSecret: "…" });
 * for await (const lot of client.inventory.listLots({ wid: 3 })) console.log(lot.recNo);
 * await client.close();
 */
export class InventoryClient {
  /** The item catalog. */
  readonly items: Items;
  /** Lots, stock levels and transactions. */
  readonly inventory: Inventory;
  /** The service and the account, as stores record them. @internal */
  readonly service: { readonly id: string; readonly address: string; readonly clientId: string };
  /** The time limit of one attempt, in ms. @internal */
  readonly timeoutMs: number;
  readonly #limiter: RateLimiter;
  readonly #pipeline: Pipeline;
  readonly #report: () => string;

  /**
   * Creates a client. It sends nothing until the first call.
   *
   * Without options, the base URL and the credentials are those of the environment variables `STOCKLOT_BASE_URL`,
   * `STOCKLOT_CLIENT_ID` and `STOCKLOT_CLIENT_SECRET`. Each client counts its own requests per minute: use one for all
   * calls of an account, or pass the same `rateLimiter` to several.
   *
   * @example
   * import { InventoryClient } from "stocklot";
   *
   * const client = new InventoryClient({ timeoutMs: 10_000, logger: console });
   * const level = await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
   * @throws ConfigurationError if an option is wrong or missing, if options cannot be combined, or if the runtime is
   * not supported.
   */
  constructor(options: ClientOptions = {}) {
    // First, since a message about the options must not show it.
    if (typeof options?.clientSecret === "string") rememberSecret(options.clientSecret);
    checkClientOptions(options);
    checkRuntime();
    const { baseUrl, clientId, clientSecret } = resolveServiceConnection(options);
    const address = baseUrl.href.replace(/\/+$/, "");
    this.service = { id: options.serviceId ?? address, address, clientId };
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.timeoutMs = timeoutMs;
    const readSecret = createClientSecretReader({ clientId, clientSecret, timeoutMs });
    const headers = lowerCaseHeaderNames(options.headers ?? {});
    rememberHeaders(headers);
    const telemetry = new Telemetry(options.logger, options.hooks);
    const { warn } = telemetry;
    const { rateLimit, responseValidation: mode = "error" } = options;
    this.#limiter =
      options.rateLimiter ?? (rateLimit === false ? createUnlimitedRateLimiter() : createRateLimiter(rateLimit));
    const transport = createTransport(baseUrl, options, warn);
    this.#report = () => createDebugReport(VERSION, options, transport.info, this.rateLimit, telemetry.recentCalls);
    this.#pipeline = createPipeline({
      baseUrl: address,
      transport,
      limiter: this.#limiter,
      telemetry,
      validation: { mode, warn },
      totalTimeoutMs: options.totalTimeoutMs ?? Infinity,
      settings: {
        timeoutMs,
        maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
        retry: mergeRetryOptions(DEFAULT_RETRY_SETTINGS, options.retry),
        headers: { accept: "application/json", "user-agent": `stocklot/${VERSION}`, ...headers },
      },
      tokenStore: options.tokenStore ?? createMemoryTokenStore(),
      account: `${clientId} at ${this.service.id}`,
      async readCredentials(cancellation) {
        const credentials = { clientId, clientSecret: await readSecret(cancellation) };
        rememberHeaders(headers);
        return credentials;
      },
    });
    this.items = new Items(this.#pipeline);
    this.inventory = new Inventory(this.#pipeline);
    bindMethods(this, InventoryClient);
  }

  /** The state of the rate limiter at this moment. Reading it sends no request. */
  get rateLimit(): RateLimitSnapshot {
    return this.#limiter.snapshot();
  }

  /** How many bulk requests the limiter allows. @internal */
  get bulkAllowance(): PageAllowance {
    return pageAllowanceOf(this.#limiter);
  }

  /**
   * Returns a string for a bug report: versions, the runtime, the transport, the options that reveal nothing about you,
   * the state of the rate limit, and the last 50 calls with their paths and outcomes. It contains no secret, no data,
   * and no address except that of the proxy. Paths contain the keys that you requested, so read the report before you
   * publish it.
   */
  debugReport(): string {
    return this.#report();
  }

  /**
   * Sends a request to an endpoint that has no method of its own, with the same token, rate limit, retries and errors.
   * `GET`, `PUT` and `DELETE` are retried after failures; `POST` and `PATCH` only if they are known not to have been applied.
   *
   * @example
   * import { z } from "zod";
   *
   * const orderSchema = z.object({ orderNo: z.number(), status: z.string() });
   * const order = await client.request({ method: "GET", path: "/Orders/4711", schema: orderSchema });
   * console.log(order.status);
   */
  request<T = unknown>(request: CustomRequest<T>, options?: RequestOptions): Promise<T> {
    return sendCustomRequest(this.#pipeline, request, options);
  }

  /**
   * Lists the records of an endpoint that has no method of its own, such as orders (50 per page) or reports (1000 per
   * page).
   *
   * @example
   * import { z } from "zod";
   *
   * const orderSchema = z.object({ orderNo: z.number(), status: z.string() });
   * const orders = client.paginate({ path: "/Orders", schema: orderSchema, maxPageSize: 50, key: "orderNo" });
   * for await (const order of orders) console.log(order.orderNo, order.status);
   */
  paginate<T = unknown>(list: CustomList<T>, options?: ListOptions): Paginator<T> {
    return paginateCustomList(this.#pipeline, list, options);
  }

  /**
   * Closes the client: calls in flight finish, waiting and later calls reject with a `ClientClosedError`, and the
   * client's own connections are closed. A dispatcher or limiter that you passed in stays open. Calling it is optional:
   * an idle client does not keep the process alive.
   */
  close(): Promise<void> {
    return this.#pipeline.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function createTransport(
  baseUrl: URL,
  { fetch, dispatcher }: ClientOptions,
  warn: (message: string) => void,
): Transport {
  if (fetch) return callersTransport("the option fetch", createFetchSender(baseUrl, fetch));
  if (dispatcher) return callersTransport("the option dispatcher", createUndiciSender(baseUrl, dispatcher));
  return createDefaultTransport(baseUrl, warn);
}

/** What the caller passed in stays open when the client closes. */
function callersTransport(name: string, send: WireSender): Transport {
  return { info: { name }, send, close: async () => {} };
}
