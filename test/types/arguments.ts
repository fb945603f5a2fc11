/** Calls that the compiler must accept or reject. This file is compiled, but never run. */
import Bottleneck from "bottleneck";
import { createBottleneckRateLimiter } from "stocklot/bottleneck";
import { createRedisRateLimiter, type RedisClient } from "stocklot/redis";
import { z } from "zod";
import {
  type ClientOptions,
  createRateLimiter,
  InventoryClient,
  type Item,
  type Lot,
  OutcomeUnknownError,
  type Page,
  type Paginator,
  PermissionError,
  RateLimitError,
  type RateLimiter,
  type RequestOptions,
  type SentRequest,
  type StockLevel,
  StocklotError,
  TimeoutError,
  ValidationError,
} from "../../src/index.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const equal = <A, B>(_: Equal<A, B>) => {};

declare const client: InventoryClient;

export async function arguments_(): Promise<void> {
  new InventoryClient();
  new InventoryClient({ baseUrl: "https://x/api/v1", rateLimit: false, retry: false, rateLimiter: undefined });
  new InventoryClient({ rateLimiter: createRateLimiter({ requests: 50 }), fetch: globalThis.fetch, logger: console });
  // @ts-expect-error a misspelt option
  new InventoryClient({ baseURL: "https://x/api/v1" });
  // @ts-expect-error a misspelt limit
  new InventoryClient({ rateLimit: { request: 100 } });
  // @ts-expect-error createRateLimiter creates a limiter
  new InventoryClient({ rateLimiter: {} });
  // @ts-expect-error there is no such mode
  new InventoryClient({ responseValidation: "strict" });

  client.items.list({ direction: "ASC", modifiedSince: new Date(), includeDiscontinued: true });
  // @ts-expect-error the direction is spelt in capitals
  client.items.list({ direction: "asc" });
  // @ts-expect-error page numbers are numbers
  client.items.list({ page: "1" });
  // @ts-expect-error items have no warehouse
  client.items.list({ wid: 3 });
  client.inventory.listLots({ wid: 3 }, { gapless: true, readAhead: 0 });
  // @ts-expect-error options of iterations are for lists
  client.items.get("X", { readAhead: 1 });
  // @ts-expect-error a warehouse ID is a number
  client.inventory.listLots({ wid: "3" });
  // @ts-expect-error it is spelt wid in requests
  client.inventory.listLots({ wID: 3 });
  // @ts-expect-error options of iterations are for lists
  client.items.get("X", { gapless: true });
  client.items.get("X", { priority: "low", timeoutMs: 5, signal: AbortSignal.timeout(5), retry: { maxRetries: 1 } });
  // @ts-expect-error a SKU is a string
  client.items.get(5);
  // @ts-expect-error a part number is a number
  client.items.getByPartNo("5");

  client.items.create({ shortID: "X", uOM: "EA" });
  // @ts-expect-error a SKU is required
  client.items.create({ description: "X" });
  // @ts-expect-error the object's names are used, not those of the quick start
  client.items.create({ shortID: "X", unit: "EA" });
  client.items.update("X", { description: undefined });
  // @ts-expect-error the SKU cannot be changed
  client.items.update("X", { shortID: "Y" });

  const receipt = { itemID: "X", units: 1, wid: 3, reasonCode: 1 };
  client.inventory.receive({ ...receipt, rfidTag: "T", expires: "2026-01-01" });
  // @ts-expect-error a receipt needs a reason
  client.inventory.receive({ itemID: "X", units: 1, wid: 3 });
  // @ts-expect-error it is spelt rfidTag in requests
  client.inventory.receive({ ...receipt, rFIDTag: "T" });
  client.inventory.move({ itemID: "X", units: 1, wid: 3, fromSpot: "A", toSpot: "B" });
  const request: SentRequest = { method: "POST", path: "/Inventory/Receive", body: receipt, sentAt: 0 };
  client.inventory.findReceipt(request, { settleMs: 0, totalTimeoutMs: 5, priority: "low" });
  client.items.findCreated(JSON.parse("{}"));
  // @ts-expect-error a request has a sending time
  client.inventory.findReceipt({ method: "POST", path: "/Inventory/Receive", body: receipt });
  // @ts-expect-error only a search settles
  client.inventory.receive(receipt, { settleMs: 0 });
  const { receive } = client.inventory;
  equal<typeof receive, typeof client.inventory.receive>(true);
  // @ts-expect-error a move needs no reason and has no such field
  client.inventory.move({ itemID: "X", units: 1, wid: 3, reasonCode: 1 });
  // @ts-expect-error an issue needs a reason
  client.inventory.issue({ itemID: "X", units: 1, wid: 3 });
}

export async function results(): Promise<void> {
  equal<Paginator<Item>, ReturnType<typeof client.items.list>>(true);
  for await (const lot of client.inventory.listLots()) {
    equal<typeof lot, Lot>(true);
    equal<typeof lot.shipped, string | null>(true);
    // @ts-expect-error a field that the document does not know
    lot.createdBy;
    // @ts-expect-error it is spelt wID in lots
    lot.wid;
  }
  for await (const page of client.inventory.listStockLevels().pages()) equal<typeof page, Page<StockLevel>>(true);
  equal<Map<string, StockLevel | null>, Awaited<ReturnType<typeof client.inventory.getStockLevels>>>(true);
  // @ts-expect-error a paginator is not a promise
  client.items.list().then(() => {});
  const created = await client.items.create({ shortID: "X" });
  equal<typeof created.status, "created">(true);
  equal<typeof created.item, Item | undefined>(true);
  const { recNo, body } = await client.inventory.issue({ itemID: "X", units: 1, wid: 3, reasonCode: 1 });
  equal<typeof recNo, number | undefined>(true);
  equal<typeof body, unknown>(true);

  const order = await client.request({
    method: "GET",
    path: "/Orders/1",
    schema: z.object({ at: z.string().transform(Number) }),
  });
  equal<typeof order, { at: number }>(true);
  equal<Awaited<ReturnType<typeof raw>>, unknown>(true);
  const orders = client.paginate({ path: "/Orders", schema: z.object({ no: z.number() }), key: "no" });
  equal<typeof orders, Paginator<{ no: number }>>(true);
  // @ts-expect-error there is no such field to tell records by
  client.paginate({ path: "/Orders", schema: z.object({ no: z.number() }), key: "number" });
}

const raw = () => client.request({ method: "GET", path: "/Orders/1" });

/** Options with the same name and the same meaning in the options of a client and of a request. */
type Shared = "timeoutMs" | "totalTimeoutMs" | "retry";
equal<Pick<ClientOptions, Shared>, Pick<RequestOptions, Shared>>(true);

export function limitersAreCreatedByThePackage(limiter: RateLimiter, redis: RedisClient): void {
  const snapshot = () => limiter.snapshot();
  // @ts-expect-error an object that only looks like a limiter
  new InventoryClient({ rateLimiter: { snapshot } });
  // @ts-expect-error all its methods do not make it one either
  const lookAlike: RateLimiter = { snapshot, acquire: () => Promise.resolve(), pause: () => {} };
  const limiters: RateLimiter[] = [
    createRateLimiter(),
    createRedisRateLimiter({ redis }),
    createBottleneckRateLimiter(new Bottleneck()),
  ];
  for (const rateLimiter of [...limiters, lookAlike]) new InventoryClient({ rateLimiter });
}

export function advice(error: unknown): string {
  if (error instanceof OutcomeUnknownError)
    return `${error.request.path} ${error.request.sentAt} ${error.status ?? "no response"}`;
  if (error instanceof ValidationError) return Object.keys(error.details).join();
  if (PermissionError.is(error)) return error.reason;
  if (RateLimitError.is(error)) return `in ${error.retryAfterMs} ms`;
  if (TimeoutError.is(error)) return error.clock;
  if (StocklotError.is(error)) return `${error.applied}`;
  // @ts-expect-error: nothing is known about other errors.
  return error.message;
}

export function onlyOfItsClass(error: StocklotError): unknown {
  // @ts-expect-error: only some have a reason.
  return error.reason;
}
