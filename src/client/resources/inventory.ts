import { skuSchema } from "../../service/key.js";
import type { InventoryListParams } from "../../service/list-params.js";
import type { Lot } from "../../service/lot.js";
import { WRITES } from "../../service/operations.js";
import type { StockLevel } from "../../service/stock-level.js";
import type { IssueInput, MoveInput, ReceiveInput } from "../../service/transaction.js";
import { setNewest } from "../../shared/bounded-map.js";
import { type OutcomeUnknownError, ResponseValidationError, type SentRequest } from "../../shared/errors/index.js";
import { checkInput } from "../../shared/schema.js";
import { isObject } from "../../shared/unknown.js";
import { type FoundReceipt, findReceipt } from "../find/find-receipt.js";
import { type FindOptions, readFindOptions } from "../find/look-until-certain.js";
import { ReceiptLookup } from "../find/receipt-lookup.js";
import { readSentReceipt } from "../find/sent-write.js";
import { lotList, RecordNumbers, stockLevelList } from "../lists/inventory-lists.js";
import { createPaginator, type ListOptions } from "../lists/list.js";
import type { Paginator } from "../lists/paginator.js";
import { type FoundItems, ItemLookup, missingItemsError } from "../search/item-lookup.js";
import {
  type ItemScope,
  type ItemSearchOptions,
  levelScopeSchema,
  levelsScopeSchema,
  lotScopeSchema,
  type StockLevelScope,
  type StockLevelsScope,
} from "../search/search-options.js";
import type { ResponseReader } from "../send/call.js";
import { describeFalseSuccess } from "../send/false-success.js";
import { requestOf } from "../send/payload.js";
import type { RequestOptions } from "../send/request-options.js";
import type { ClientRequester } from "../send/requester.js";
import { parseJsonOrUndefined, readText } from "../transport/exchange.js";
import { bindMethods } from "./bind-methods.js";

/** The result of `receive`, `move` and `issue`. */
export interface TransactionResult {
  /** The lot record number, if the response contains it. A number that may have been cut is left out. */
  recNo?: number;
  /** The body of the response: parsed JSON, otherwise a string; `undefined` if it was empty. Its form is not documented. */
  body: unknown;
}

const MAX_KNOWN_RECEIPTS = 1_000;

const COMPARE_LOTS_HINT =
  "It may still be in progress: before you resend it, wait one minute and compare the lots of the item with their earlier state.";
/** Advice for an unknown outcome. */
const RECOVERY_HINTS = {
  receive: 'Resend it only if client.inventory.findReceipt(error) reports "not-applied", which takes up to a minute.',
  move: COMPARE_LOTS_HINT,
  issue: COMPARE_LOTS_HINT,
};

/**
 * Lots, stock levels, and the three stock transactions.
 *
 * Every method can reject with:
 * - `InputValidationError`: an argument is wrong; nothing was sent
 * - `AuthenticationError` (401 or refused credentials), `PermissionError` (403), `RateLimitError` (429, after the retries),
 *   `ServerError` (5xx), or another `ApiError`
 * - `TimeoutError`, `ClientClosedError`, or another `ConnectionError`: there is no usable response
 * - `ResponseValidationError`: the response is not what the service documents
 * - `PaginationError` (iterations, and searches for one item): the service reports more pages forever, or the list changes too fast
 * - `OutcomeUnknownError` (writes only): the write was sent and may or may not have been applied
 * - the reason of the `signal`, if it aborts before a write was sent, or during a read
 *
 * Source: service interface, "GET /Inventory" and following.
 */
export class Inventory {
  readonly #requester: ClientRequester;
  readonly #itemLookup: ItemLookup;
  readonly #numbers = new RecordNumbers();
  readonly #lots = this.#numbers.observe(lotList);
  /** Finds out what became of a receipt, for the outbox. @internal */
  readonly receiptLookup: ReceiptLookup;
  /** The receipts that this client has sent, by the number in the response: their lots belong to no other receipt. */
  readonly #sentReceipts = new Map<number, object>();

  /** @internal */
  constructor(requester: ClientRequester) {
    this.#requester = requester;
    this.#itemLookup = new ItemLookup(requester);
    this.receiptLookup = new ReceiptLookup(requester, this.#itemLookup, this.#numbers);
    bindMethods(this, Inventory);
  }

  /**
   * The lots, most recent first unless `sort` names a column.
   *
   * Source: `GET /Inventory`, `GET /Inventory/{wid}`.
   *
   * @example
   * for await (const lot of client.inventory.listLots({ wid: 3 }))
   *   console.log(lot.recNo, lot.units);
   * @throws PermissionError if the warehouse is out of the client's scope.
   */
  listLots(params: InventoryListParams = {}, options: ListOptions = {}): Paginator<Lot> {
    return createPaginator(this.#requester, this.#lots(params, options));
  }

  /**
   * The stock of each item, in all warehouses or in one.
   *
   * Source: `GET /Inventory/StockLevels`, `GET /Inventory/StockLevels/{wid}`.
   *
   * @example
   * const levels = await client.inventory.listStockLevels({ wid: 3 }).toArray();
   * const soldOut = levels.filter(({ available }) => available <= 0);
   * @throws PermissionError if the warehouse is out of the client's scope.
   */
  listStockLevels(params: InventoryListParams = {}, options: ListOptions = {}): Paginator<StockLevel> {
    return createPaginator(this.#requester, stockLevelList(params, options));
  }

  /**
   * The stock of one item, in all warehouses or in one; `null` if the service does not list it. An item that is listed with
   * zeros is returned.
   *
   * The service cannot filter stock levels by item. The client searches a few pages sorted by `partNo` instead of reading the
   * list: usually 4 requests for 20,000 items, or 1 request for an item that it has searched before. The result is exact,
   * even if the list changes meanwhile: it is read from one page, which also contains the neighbours of the item. If the
   * service does not sort this list, the whole list is read; also if `sort` makes no difference and the item was not found.
   * With `ifUnsorted: "error"`, the call rejects instead.
   *
   * Simultaneous calls share equal requests. If a search cannot end within `totalTimeoutMs`, nothing is sent, and the call
   * rejects with a `TimeoutError` with `retryAfterMs`. With `maxAgeMs`, a recent result of this client is returned without a
   * request; `null` and "no such item" are results, too.
   *
   * `options` apply to the whole call; `onResponse` receives the last response.
   *
   * Source: `GET /Inventory/StockLevels`, `GET /Inventory/StockLevels/{wid}`, `GET /Item?key=…&type=id`.
   *
   * @example
   * const level = await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
   * console.log(level?.available ?? 0);
   * @throws NotFoundError if there is no such item.
   * @throws PermissionError if the warehouse is out of the client's scope.
   * @throws PaginationError if the list changes faster than it can be searched, or with `ifUnsorted: "error"`.
   */
  async getStockLevel(
    shortID: string,
    scope: StockLevelScope = {},
    options: ItemSearchOptions = {},
  ): Promise<StockLevel | null> {
    const name = "inventory.getStockLevel";
    return await this.#requester.asOneMethod(name, async () => {
      const shortIDs = checkedSku(shortID, "getStockLevel");
      const input = { shortIDs, scope, scopeSchema: levelScopeSchema, options };
      const levels = levelsOf(await this.#itemLookup.find(name, stockLevelList, input));
      return levels.get(shortID) ?? null;
    });
  }

  /**
   * The stock of several items, in all warehouses or in one, by the SKU as asked; `null` if the service does not list it.
   *
   * Works like {@link getStockLevel}, but the searches share pages and look-ups. Twelve items among 20,000 take at most about
   * 30 requests, or 12 if they were searched before. The call never takes more requests than reading the items and the list.
   * With `onMissing: "omit"`, the result lacks SKUs that do not exist.
   *
   * @example
   * const levels = await client.inventory.getStockLevels(["BOLT-M8", "NUT-M8"], {
   *   wid: 3,
   * });
   * for (const [shortID, level] of levels) console.log(shortID, level?.available ?? 0);
   * @throws NotFoundError if some of the items do not exist: one error that names all of them, in `details.shortIDs` if there
   * are several.
   * @throws PermissionError if the warehouse is out of the client's scope.
   * @throws PaginationError if the list changes faster than it can be searched, or with `ifUnsorted: "error"`.
   */
  async getStockLevels(
    shortIDs: readonly string[],
    scope: StockLevelsScope = {},
    options: ItemSearchOptions = {},
  ): Promise<Map<string, StockLevel | null>> {
    const name = "inventory.getStockLevels";
    const input = { shortIDs, scope, scopeSchema: levelsScopeSchema, options };
    return await this.#requester.asOneMethod(name, async () =>
      levelsOf(await this.#itemLookup.find(name, stockLevelList, input)),
    );
  }

  /**
   * The lots of one item, in all warehouses or in one, by ascending `recNo`: the oldest record first.
   *
   * The service cannot filter lots by item. The client searches a few pages sorted by `partNo` instead of reading the list:
   * usually 6 requests for 100,000 lots, one for an item that it has searched before. Up to about 200 lots are read from one
   * page, so the result is what the service showed at one moment. More lots are read repeatedly, until two readings in a row
   * agree. Then each lot that existed during the whole search is returned once, provided that the service orders the lots of
   * an item in the same way on all pages. If the service does not sort this list, or `sort` makes no difference, the whole
   * list is read, unless `ifUnsorted` is `"error"`.
   *
   * `options` apply to the whole call; `onResponse` receives the last response.
   *
   * Source: `GET /Inventory`, `GET /Inventory/{wid}`, `GET /Item?key=…&type=id`.
   *
   * @example
   * const lots = await client.inventory.getLots("BOLT-M8", { wid: 3 });
   * for (const { spot, units } of lots) console.log(spot, units);
   * @throws NotFoundError if there is no such item.
   * @throws PermissionError if the warehouse is out of the client's scope.
   * @throws PaginationError if the list changes faster than it can be searched, or with `ifUnsorted: "error"`.
   */
  async getLots(shortID: string, scope: ItemScope = {}, options: ItemSearchOptions = {}): Promise<Lot[]> {
    const name = "inventory.getLots";
    const shortIDs = checkedSku(shortID, "getLots");
    return await this.#requester.asOneMethod(name, async () => {
      const input = { shortIDs, scope, scopeSchema: lotScopeSchema, options };
      const { found, missing } = await this.#itemLookup.find(name, this.#lots, input);
      const error = missingItemsError(missing);
      if (error) throw error;
      const lots = found.get(shortID)?.records ?? [];
      return lots.sort((one, next) => one.recNo - next.recNo);
    });
  }

  /**
   * Books stock in. Not retried if it may have been applied.
   *
   * Source: `POST /Inventory/Receive`.
   *
   * @example
   * const { recNo } = await client.inventory.receive({
   *   itemID: "BOLT-M8",
   *   units: 50,
   *   wid: 3,
   *   reasonCode: 1,
   *   spot: "A-01",
   * });
   * @throws OutcomeUnknownError if it was sent and no usable response arrived: resend it only if {@link findReceipt}
   * reports "not-applied".
   */
  receive(input: ReceiveInput, options?: RequestOptions): Promise<TransactionResult> {
    return this.#transact("receive", input, options);
  }

  /**
   * Looks up what became of a `receive` with unknown outcome. Candidates are the lots with a record number above
   * `request.lastRecNo`, the highest that this client had seen when the request was sent; without it, all lots.
   *
   * "applied": a candidate of the item has the receipt's `rfidTag`, or equals the receipt in all fields that both have. One of
   * these fields must be `serial`, `serial2` or `remark`. Without `lastRecNo`, the lot must also have been received after the
   * request was sent. Two receipts with the same text cannot be told apart, so make the text unique.
   *
   * "not-applied": `settleMs` has passed, and no lot can be the receipt's. Either two views of the list (most recent first, and
   * by descending `recNo`) agree, or the whole list was read. "ambiguous": anything else, such as another new lot of the item
   * that is not known to be another receipt's, an item that cannot be found, a warehouse that the client may not read, or
   * lists that contradict each other. A person must decide.
   *
   * The service may still be working on a request that timed out. "not-applied" is therefore reported only after `settleMs`
   * has passed since the request was sent; until then the lots are read again after 1, 2, 4, 8 … s. `options` apply to each
   * look, except `settleMs` and `totalTimeoutMs`.
   *
   * @example
   * import { OutcomeUnknownError } from "stocklot";
   *
   * const input = {
   *   itemID: "BOLT-M8",
   *   units: 50,
   *   wid: 3,
   *   reasonCode: 1,
   *   remark: "delivery 4711",
   * };
   * try {
   *   await client.inventory.receive(input);
   * } catch (error) {
   *   if (!(error instanceof OutcomeUnknownError)) throw error;
   *   const { outcome } = await client.inventory.findReceipt(error);
   *   if (outcome === "not-applied") await client.inventory.receive(input);
   * }
   * @param sent the `OutcomeUnknownError`, or its `request` as restored from JSON
   * @throws InputValidationError if `sent` is neither the `OutcomeUnknownError` of a `receive` nor its request.
   * @throws TimeoutError if the outcome is not certain within `options.totalTimeoutMs`.
   */
  async findReceipt(sent: OutcomeUnknownError | SentRequest, options: FindOptions = {}): Promise<FoundReceipt> {
    const method = "inventory.findReceipt";
    return await this.#requester.asOneMethod(method, async () =>
      findReceipt({
        method,
        sent: readSentReceipt(sent),
        options: readFindOptions(method, options),
        closed: this.#requester.closed,
        others: this.#sentReceipts,
        lookup: this.receiptLookup,
      }),
    );
  }

  /**
   * Moves stock, within a warehouse or to another. Not retried if it may have been applied.
   *
   * Source: `POST /Inventory/Move`.
   *
   * @example
   * await client.inventory.move({
   *   itemID: "BOLT-M8",
   *   units: 5,
   *   wid: 3,
   *   fromSpot: "A-01",
   *   toSpot: "B-07",
   * });
   * @throws OutcomeUnknownError if it was sent and no usable response arrived.
   */
  move(input: MoveInput, options?: RequestOptions): Promise<TransactionResult> {
    return this.#transact("move", input, options);
  }

  /**
   * Books stock out. Not retried if it may have been applied.
   *
   * Source: `POST /Inventory/Issue`.
   *
   * @example
   * await client.inventory.issue({
   *   itemID: "BOLT-M8",
   *   units: 5,
   *   wid: 3,
   *   reasonCode: 2,
   *   reference: "order 4711",
   * });
   * @throws OutcomeUnknownError if it was sent and no usable response arrived.
   */
  issue(input: IssueInput, options?: RequestOptions): Promise<TransactionResult> {
    return this.#transact("issue", input, options);
  }

  async #transact(
    transaction: keyof typeof RECOVERY_HINTS,
    input: ReceiveInput | MoveInput | IssueInput,
    options: RequestOptions | undefined,
  ): Promise<TransactionResult> {
    const operation = WRITES[transaction];
    const body = checkInput(`inventory.${transaction}`, operation.input, input);
    const isReceipt = transaction === "receive";
    const result = await this.#requester.send(
      {
        ...requestOf(operation),
        body,
        read: readTransactionResult,
        describeFalseSuccess,
        recoveryHint: RECOVERY_HINTS[transaction],
        shortID: body.itemID,
        ...(isReceipt && { lastRecNo: () => this.#numbers.highest }),
      },
      options,
    );
    if (isReceipt && result.recNo !== undefined) setNewest(this.#sentReceipts, result.recNo, body, MAX_KNOWN_RECEIPTS);
    return result;
  }
}

/** The stock level of each item. Throws a `NotFoundError` for items that do not exist. */
function levelsOf({ path, found, missing }: FoundItems<StockLevel>): Map<string, StockLevel | null> {
  const error = missingItemsError(missing);
  if (error) throw error;
  const levels = new Map<string, StockLevel | null>();
  for (const [shortID, { partNo, records }] of found) {
    const [level = null, second] = records;
    levels.set(shortID, level);
    if (!second) continue;
    const message = `partNo ${partNo} is listed twice`;
    const issues = [{ path: ["value"], message }];
    throw new ResponseValidationError(`GET ${path}: ${message}. Report it to the provider of the service.`, {
      status: 200,
      issues,
    });
  }
  return levels;
}

/** Checks one SKU. Returns it as a list, because a search takes several SKUs. */
function checkedSku(shortID: string, method: string): [string] {
  return [checkInput(`inventory.${method}`, skuSchema, shortID, ["shortID"])];
}

/** Any body that is not a false success counts as a success, whatever form it has. */
const readTransactionResult: ResponseReader<TransactionResult> = (context) => {
  const text = readText(context.response);
  const parsed = parseJsonOrUndefined(text);
  const body = parsed === undefined ? text || undefined : parsed;
  // A number that was cut is still a number: `123` instead of `12345`.
  const mayBeCut = context.response.endsByClose && (parsed === undefined || typeof parsed === "number");
  const recNo = mayBeCut ? undefined : findRecordNumber(body);
  return { ...(recNo === undefined ? {} : { recNo }), body };
};

/**
 * The record number in the response to a transaction, whose form is not documented: a bare number, a numeric string, or a
 * field at the top or one level down. `undefined` if there is none.
 */
export function findRecordNumber(body: unknown): number | undefined {
  const top = fieldsOf(body);
  const entries = [...top, ...top.flatMap(([, value]) => fieldsOf(value))];
  const named = (name: string) =>
    entries
      .filter(([key]) => key.toLowerCase() === name)
      .map(([, value]) => toRecordNumber(value))
      .find((number) => number !== undefined);
  return toRecordNumber(body) ?? named("recno") ?? named("id");
}

function toRecordNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

const fieldsOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
