import type { Item } from "../../schemas/item.js";
import type { Lot } from "../../schemas/lot.js";
import type { StockLevel } from "../../schemas/stock-level.js";
import type { FaultRule } from "../faults/rule.js";

/** An integration user of the service. */
export interface SandboxClient {
  /** Name that the client asks for a token with. */
  clientId: string;
  /** Its secret. */
  clientSecret: string;
  /** Warehouse IDs that make up the client's scope. @default every warehouse */
  warehouses?: readonly number[];
  /** Security IDs that the client holds: 11 read, 116 item changes, 95 receive, 15 move, 88 issue. @default all */
  permissions?: readonly number[];
  /** Refuse every write with "Account is read-only.". @default false */
  readOnly?: boolean;
}

/** A warehouse. */
export interface SandboxWarehouse {
  /** Warehouse ID. */
  wID: number;
  /** What lots show as their `warehouse`. */
  name: string;
}

/** An item as the caller gives it: all but the SKU may be left out. */
export type SandboxItem = Partial<Item> & Pick<Item, "shortID">;

/** A lot as the caller gives it. Its item is named by `shortID`, or by `partNo`. */
export type SandboxLot = Partial<Lot> & (Pick<Lot, "shortID"> | Pick<Lot, "partNo">);

/** Quantities of a stock level that no documented transaction changes. */
export type SandboxStockLevel = Partial<Pick<StockLevel, "onOrder" | "committed" | "packed" | "aSN">> & {
  /** SKU of the item. */
  shortID: string;
  /** Warehouse that the quantities belong to. @default the first one */
  wid?: number;
};

/** How the sandbox limits requests. */
export interface SandboxRateLimit {
  /** Requests allowed in one interval, token requests included. @default 100 */
  requests?: number;
  /** Length of the interval in ms. @default 60_000 */
  intervalMs?: number;
  /** `sliding`: any stretch of that length. `fixed`: counted from zero at each multiple of it. @default "sliding" */
  window?: "sliding" | "fixed";
  /** What has a count of its own. @default "client" */
  per?: "client" | "address";
  /** Send `Retry-After` with a 429, and in which form. @default false */
  retryAfter?: false | "seconds" | "date";
  /** Count requests that were answered with 429 as well. @default false */
  countRefused?: boolean;
}

/**
 * How a transaction answers: `object` `{ recNo, status }`, `number` a bare number, `text` the number as plain text,
 * `nested` `{ data: { recNo } }`, `empty` nothing, or a function from the record number to the JSON body.
 */
export type TransactionForm = "object" | "number" | "text" | "nested" | "empty" | ((recNo: number) => unknown);

/** Everything that can be set, all of it optional. The guide "Testing" has a table of the defaults. */
export interface SandboxOptions {
  /** Integration users. The first one is what `sandbox.credentials` gives. @default one that may do everything */
  clients?: readonly SandboxClient[];
  /** The warehouses that there are. @default four: 1 Central, 2 North, 3 South, 4 Returns */
  warehouses?: readonly SandboxWarehouse[];
  /** Items, or how many to make from `seed`. @default 250; none but the lots' own when `lots` is an array */
  items?: number | readonly SandboxItem[];
  /** Lots, or how many to make from `seed`. @default 2000; none when `items` is an array */
  lots?: number | readonly SandboxLot[];
  /** Alternate part numbers, each with the SKU it points to. @default one for each tenth generated item */
  aliases?: Readonly<Record<string, string>>;
  /** Quantities on order, committed, packed and in transit. @default generated for generated lots, else zero */
  stockLevels?: readonly SandboxStockLevel[];
  /** The same seed gives the same data. @default 1 */
  seed?: number;
  /** `false` for none. @default 100 requests in any 60 s */
  rateLimit?: SandboxRateLimit | false;
  /** How long a token is good for, in seconds. @default 3600 */
  tokenTtlSeconds?: number;
  /** Time each answer takes, in ms, or `[min, max]`; half before the request takes effect. @default 0 */
  latencyMs?: number | readonly [min: number, max: number];
  /** The clock, in milliseconds since the epoch. @default Date.now, looked up at each use */
  now?: () => number;
  /** Rules for answers that go wrong. @default none */
  faults?: readonly FaultRule[];

  /** Answer to a create: `{ shortID, status }`, or the full item with `active`. @default "reference" */
  createForm?: "reference" | "item";
  /** Status for a SKU that exists already: 400 `bad_request` or 409 `conflict`. @default 409 */
  duplicateStatus?: 400 | 409;
  /** Accept `unit` for `uOM` and `categoryID` for `category` in a create. @default true */
  alternateNames?: boolean;
  /** Answer to a receipt. @default "object" */
  receiveForm?: TransactionForm;
  /** Answer to a move. @default "object" */
  moveForm?: TransactionForm;
  /** Answer to an issue. @default "object" */
  issueForm?: TransactionForm;
  /** Status of a successful receipt, which creates a lot. @default 201 */
  receiveStatus?: 200 | 201;
  /** Status for wrong credentials. @default 401 */
  tokenFailureStatus?: 400 | 401 | 403;
  /** Body for wrong credentials: the error object, or OAuth's `{ error: "invalid_client" }`. @default "envelope" */
  tokenFailureForm?: "envelope" | "oauth";
  /** How `expires_in` is given. @default "number" */
  expiresInForm?: "number" | "text" | "missing";
  /** Status when a transaction names an unknown item. @default 400 */
  unknownItemStatus?: 400 | 404;
  /** Status when a move or an issue asks for more than there is. @default 400 */
  shortageStatus?: 400 | 409;
  /** A warehouse that does not exist: out of scope (403), or 404. @default "forbidden" */
  unknownWarehouse?: "forbidden" | "not-found";
  /** Whether lots on hold can be moved and issued. @default "allow" */
  heldLots?: "allow" | "refuse";
  /** A `page` or `pageSize` below 1 or not a number: take the nearest valid value, or answer 400. @default "clamp" */
  invalidPaging?: "clamp" | "refuse";
  /** Lists that honour `modifiedSince`; the others ignore it. @default all three */
  modifiedSinceOn?: readonly ("items" | "lots" | "stockLevels")[];
  /** Reason codes that are accepted. @default any whole number */
  reasonCodes?: readonly number[];
  /** Whether items carry `createdBy`, and as what. @default "omit" */
  createdBy?: "omit" | "text" | "integer";
  /** How many requests `sandbox.requests` remembers; the oldest go first. @default 100_000 */
  requestLogSize?: number;
  /** Compress answers on `listen()` for clients that accept gzip. @default true */
  compression?: boolean;
}
