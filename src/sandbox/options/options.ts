import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import type { FaultRule } from "../faults.js";

/** An integration user of the service. */
export interface SandboxClient {
  /** Client ID of the token request. */
  clientId: string;
  /** Client secret of the token request. */
  clientSecret: string;
  /** IDs of the warehouses in the client's scope. @default every warehouse */
  warehouses?: readonly number[] | undefined;
  /** Security IDs that the client holds: 11 read, 116 item changes, 95 receive, 15 move, 88 issue. @default all */
  permissions?: readonly number[] | undefined;
  /** Refuse every write with "Account is read-only.". @default false */
  readOnly?: boolean | undefined;
}

/** A warehouse. */
export interface SandboxWarehouse {
  /** Warehouse ID. */
  wID: number;
  /** Name of the warehouse, the field `warehouse` of its lots. */
  name: string;
}

/** The same fields, each of which can be missing or undefined. */
type PartialOrUndefined<T> = { [K in keyof T]?: T[K] | undefined };

/** An item of the caller's: every field but the SKU is optional. */
export type SandboxItem = PartialOrUndefined<Item> & Pick<Item, "shortID">;

/** A lot of the caller's. `shortID` or `partNo` identifies its item. */
export type SandboxLot = PartialOrUndefined<Lot> & (Pick<Lot, "shortID"> | Pick<Lot, "partNo">);

/** Quantities of a stock level that no documented transaction changes. */
export type SandboxStockLevel = PartialOrUndefined<Pick<StockLevel, "onOrder" | "committed" | "packed" | "aSN">> & {
  /** SKU of the item. */
  shortID: string;
  /** Warehouse that the quantities belong to. @default the first one */
  wid?: number | undefined;
};

/** How the sandbox limits requests. */
export interface SandboxRateLimit {
  /** Requests allowed in one interval, token requests included. @default 100 */
  requests?: number | undefined;
  /** Length of the interval in ms. @default 60_000 */
  intervalMs?: number | undefined;
  /** `sliding`: any interval of that length. `fixed`: counted from zero at each multiple of it. @default "sliding" */
  window?: "sliding" | "fixed" | undefined;
  /** Whether requests are counted per client or per address. @default "client" */
  per?: "client" | "address" | undefined;
  /** Send `Retry-After` with a 429, and in which form. @default false */
  retryAfter?: false | "seconds" | "date" | undefined;
  /** Whether requests that received a 429 are counted, too. @default false */
  countRefused?: boolean | undefined;
}

/** All options. The guide "Testing an application" lists them with their defaults. */
export interface SandboxOptions {
  /**
   * Integration users. `sandbox.credentials` are the credentials of the first one.
   * @default one with every permission
   */
  clients?: readonly SandboxClient[] | undefined;
  /** All warehouses. @default four: 1 Central, 2 North, 3 South, 4 Returns */
  warehouses?: readonly SandboxWarehouse[] | undefined;
  /**
   * Items, or the number of items to generate from `seed`.
   * @default 250; if `lots` is an array, only the items in it
   */
  items?: number | readonly SandboxItem[] | undefined;
  /** Lots, or the number of lots to generate from `seed`. @default 2_000; none if `items` is an array */
  lots?: number | readonly SandboxLot[] | undefined;
  /** Alternate part numbers, each with the SKU that it points to. @default one for every tenth generated item */
  aliases?: Readonly<Record<string, string>> | undefined;
  /** Quantities on order, committed, packed and in transit. @default generated for generated lots, else zero */
  stockLevels?: readonly SandboxStockLevel[] | undefined;
  /** The same seed generates the same data, latencies and faults. @default 1 */
  seed?: number | undefined;
  /** The rate limit; `false` for none. @default 100 requests in any 60 s */
  rateLimit?: SandboxRateLimit | false | undefined;
  /** Lifetime of a token, in seconds. @default 3_600 */
  tokenTtlSeconds?: number | undefined;
  /** Latency of a response in ms, or `[min, max]`; half of it passes before the request takes effect. @default 0 */
  latencyMs?: number | readonly [min: number, max: number] | undefined;
  /** The clock, in milliseconds since the epoch. @default Date.now, looked up at each use */
  now?: (() => number) | undefined;
  /** Rules for faulty responses. @default none */
  faults?: readonly FaultRule[] | undefined;
  /**
   * Called with each response of the service, errors included, after the request has taken effect: what it returns is
   * sent instead. It is not called for the status of a fault rule, nor if the rule breaks the connection or sends no
   * response. The request's URL begins with `sandbox.baseUrl`.
   *
   * @example
   * import { createSandbox } from "stocklot/sandbox";
   *
   * // Wrong credentials: OAuth's error object instead of the service's.
   * const sandbox = createSandbox({
   *   rewrite: (response, request) =>
   *     request.url.endsWith("/Token") && response.status === 401
   *       ? Response.json({ error: "invalid_client" }, { status: 400 })
   *       : response,
   * });
   * @default the response is sent as it is
   */
  rewrite?: ((response: Response, request: Request) => Response | Promise<Response>) | undefined;

  /**
   * Response to a create: `"reference"` is `{ shortID, status }`, `"item"` the full item with `active`.
   * @default "reference"
   */
  createForm?: "reference" | "item" | undefined;
  /** Lists that support `modifiedSince`; the others ignore it. @default all three */
  modifiedSinceOn?: readonly ("items" | "lots" | "stockLevels")[] | undefined;
  /** Lists that support `sort`; the others ignore it, and keep their default order. @default all three */
  sortOn?: readonly ("items" | "lots" | "stockLevels")[] | undefined;
}
