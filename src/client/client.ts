import { environmentVariable } from "../shared/environment.js";
import { ClientSecrets } from "../shared/errors/secrets.js";
import { fieldOf } from "../shared/unknown.js";
import { VERSION } from "../shared/version.js";
import { TokenManager } from "./auth/token-manager.js";
import { createMemoryTokenStore } from "./auth/token-store.js";
import { createRateLimiter } from "./limiter/create-rate-limiter.js";
import { UNLIMITED } from "./limiter/options.js";
import type { RateLimiter, RateLimitSnapshot } from "./limiter/rate-limiter.js";
import { type SlotAllowance, slotAllowanceOf } from "./lists/effort.js";
import type { ListOptions } from "./lists/list.js";
import type { Paginator } from "./lists/paginator.js";
import { Observer } from "./observe/observer.js";
import { type ClientOptions, readClientOptions } from "./options.js";
import { bindMethods } from "./resources/bind-methods.js";
import {
  type CustomList,
  type CustomRequest,
  paginateCustomList,
  sendCustomRequest,
} from "./resources/custom-endpoint.js";
import { Inventory } from "./resources/inventory.js";
import { Items } from "./resources/items.js";
import { createTokenRequest } from "./resources/token.js";
import type { RequestOptions } from "./send/request-options.js";
import { ClientRequester } from "./send/requester.js";
import { DEFAULT_RETRY_SETTINGS, mergeRetryOptions } from "./send/retry-options.js";
import { ServiceClock } from "./send/service-clock.js";
import { lowerCaseHeaderNames } from "./transport/headers.js";
import { createTransport } from "./transport/transport.js";

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * The client of the Inventory and Item Catalog Service. It requests and renews its access token, stays within the rate
 * limit, and retries calls that can be retried safely. Create one client per account, and use it for all calls.
 *
 * @example
 * import { InventoryClient } from "stocklot";
 *
 * const client = new InventoryClient({
 *   baseUrl: "https://inventory.example.com/api/v1",
 *   clientId: "…",
 *   clientSecret: "…",
 * });
 * for await (const lot of client.inventory.listLots({ wid: 3 }))
 *   console.log(lot.recNo);
 * await client.close();
 */
export class InventoryClient {
  /** The item catalog. */
  readonly items: Items;
  /** Lots, stock levels and transactions. */
  readonly inventory: Inventory;
  /** The service: its `serviceId`, and the address without a slash at its end. */
  readonly service: {
    /** The option `serviceId`; by default the address. */
    readonly id: string;
    /** The base URL without credentials, query and trailing slash. */
    readonly address: string;
  };
  /** The time limit of one attempt, in ms. @internal */
  readonly timeoutMs: number;
  readonly #limiter: RateLimiter;
  readonly #requester: ClientRequester;

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
  constructor(given: ClientOptions = {}) {
    // First, since a message about the options must not show it.
    const secrets = new ClientSecrets();
    const secret = given?.clientSecret ?? environmentVariable("STOCKLOT_CLIENT_SECRET");
    if (typeof secret === "string") secrets.rememberSecret(secret);
    const { options, baseUrl, clientId, clientSecret } = readClientOptions(given);
    const address = baseUrl.href.replace(/\/+$/, "");
    this.service = Object.defineProperty({ id: options.serviceId ?? address, address }, "clientId", {
      value: clientId,
    });
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.timeoutMs = timeoutMs;
    const headers = lowerCaseHeaderNames(options.headers ?? {});
    secrets.rememberHeaders(headers);
    const observer = new Observer(options.logger, options.hooks);
    const { warn } = observer;
    const { rateLimit, rateLimiter, responseValidation: mode = "error" } = options;
    this.#limiter = rateLimiter ?? createRateLimiter(rateLimit === false ? UNLIMITED : rateLimit);
    const requester: ClientRequester = new ClientRequester({
      baseUrl: address,
      transport: createTransport(baseUrl, { ...options, timeoutMs }, warn),
      limiter: this.#limiter,
      observer,
      clock: new ServiceClock(),
      validation: { mode, warn },
      totalTimeoutMs: options.totalTimeoutMs ?? Infinity,
      settings: {
        timeoutMs,
        maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
        retry: mergeRetryOptions(DEFAULT_RETRY_SETTINGS, options.retry),
        headers: { accept: "application/json", "user-agent": `stocklot/${VERSION}`, ...headers },
      },
      tokens: new TokenManager({
        store: options.tokenStore ?? createMemoryTokenStore(),
        account: `${clientId} at ${this.service.id}`,
        warn,
        remember: (accessToken) => secrets.rememberToken(accessToken),
        async request(signal, onFailedAttempt) {
          const request = await createTokenRequest({ clientId, clientSecret, timeoutMs, secrets }, signal);
          const token = await requester.send({ ...request, onFailedAttempt }, { totalTimeoutMs: Infinity }, signal);
          observer.emit("token", () => ({ expiresAt: token.expiresAt }));
          return token;
        },
      }),
    });
    this.#requester = requester;
    this.items = new Items(requester);
    this.inventory = new Inventory(requester);
    bindMethods(this, InventoryClient);
  }

  /** The state of the rate limiter at this moment. Reading it sends no request. */
  get rateLimit(): RateLimitSnapshot {
    return this.#limiter.snapshot();
  }

  /** How many bulk requests the limiter allows. @internal */
  get bulkAllowance(): SlotAllowance {
    return slotAllowanceOf(this.#limiter);
  }

  /**
   * Sends a request to an endpoint that has no method of its own, with the same token, rate limit, retries and errors.
   * `GET`, `PUT` and `DELETE` are retried after failures; `POST` and `PATCH` only if they are known not to have been applied.
   *
   * @example
   * import { z } from "zod";
   *
   * const orderSchema = z.object({ orderNo: z.number(), status: z.string() });
   * const order = await client.request({
   *   method: "GET",
   *   path: "/Orders/4711",
   *   schema: orderSchema,
   * });
   * console.log(order.status);
   */
  request<T = unknown>(request: CustomRequest<T>, options?: RequestOptions): Promise<T> {
    return sendCustomRequest(this.#requester, request, options);
  }

  /**
   * Lists the records of an endpoint that has no method of its own, such as orders (50 per page) or reports (1,000 per
   * page).
   *
   * @example
   * import { z } from "zod";
   *
   * const orderSchema = z.object({ orderNo: z.number(), status: z.string() });
   * const orders = client.paginate({
   *   path: "/Orders",
   *   schema: orderSchema,
   *   maxPageSize: 50,
   *   key: "orderNo",
   * });
   * for await (const order of orders) console.log(order.orderNo, order.status);
   */
  paginate<T = unknown>(list: CustomList<T>, options?: ListOptions): Paginator<T> {
    return paginateCustomList(this.#requester, list, options);
  }

  /**
   * Closes the client: calls in flight finish, waiting and later calls reject with a `ClientClosedError`, and the
   * client's own connections are closed. A dispatcher or limiter that you passed in stays open. Calling it is optional:
   * an idle client does not keep the process alive.
   */
  close(): Promise<void> {
    return this.#requester.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The service and the account of a client, as stores record them. */
export function accountOf({ service }: InventoryClient): { id: string; address: string; clientId: string } {
  return { ...service, clientId: String(fieldOf(service, "clientId")) };
}
