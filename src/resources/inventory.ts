import type { z } from "zod";
import type { Answer } from "../core/call.js";
import { checkInput } from "../core/check-input.js";
import { inexactNumbers } from "../core/inexact-numbers.js";
import { parseJson } from "../core/parse-json.js";
import { path } from "../core/path.js";
import type { Send } from "../core/pipeline.js";
import { readText } from "../core/read-json.js";
import { reportIssues } from "../core/report-issues.js";
import type { RequestOptions } from "../core/request-options.js";
import type { OutcomeUnknownError } from "../errors/index.js";
import { keyField, type List, paginatorOf } from "../paging/list.js";
import type { ListOptions } from "../paging/list-options.js";
import { pageOf } from "../paging/page-answer.js";
import type { Paginator } from "../paging/paginator.js";
import type { LazySchema } from "../schemas/field.js";
import { type InventoryListParams, inventoryListSchema } from "../schemas/list-params.js";
import { type Lot, lotSchema } from "../schemas/lot.js";
import { type StockLevel, stockLevelSchema } from "../schemas/stock-level.js";
import {
  type IssueInput,
  issueSchema,
  type MoveInput,
  moveSchema,
  type ReceiveInput,
  receiveSchema,
} from "../schemas/transaction.js";
import type { FoundReceipt } from "./find-receipt.js";
import { recordNumber } from "./record-number.js";

/** What `receive`, `move` and `issue` give. */
export interface TransactionResult {
  /** The record number, where the answer tells it. */
  recNo?: number;
  /** The body as it came: JSON, else text; `undefined` when there was none. Its form is not documented. */
  body: unknown;
}

const MAX_PAGE_SIZE = 250;

const RECEIPTS_REMEMBERED = 1_000;

const COMPARE_LOTS = "Compare the lots of the item with what they were before you send it again.";
/** What to do after an unknown outcome. */
const AFTERWARDS = {
  Receive: "Ask client.inventory.findReceipt(error) before you send it again.",
  Move: COMPARE_LOTS,
  Issue: COMPARE_LOTS,
};

const lotPage = /* @__PURE__ */ pageOf(lotSchema);
const stockLevelPage = /* @__PURE__ */ pageOf(stockLevelSchema);

/** Lots, stock levels, and the three stock transactions. Source: service interface, "GET /Inventory" and following. */
export class Inventory {
  readonly #send: Send;
  /** The receipts that this client knows to have been applied: a lot of theirs is not that of another one. */
  readonly #receipts = new Set<number>();

  /** @internal */
  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * The lots, most recent first unless told otherwise.
   *
   * Source: `GET /Inventory`, `GET /Inventory/{wid}`.
   * @throws PermissionError when the warehouse is out of the client's scope.
   */
  listLots(params: InventoryListParams = {}, options: ListOptions = {}): Paginator<Lot> {
    return paginatorOf(this.#send, {
      name: "inventory.listLots",
      params,
      schema: inventoryListSchema,
      request: (params) => listRequest("/Inventory", params),
      options,
      answer: lotPage,
      maxPageSize: MAX_PAGE_SIZE,
      keyOf: keyField("recNo"),
      stableSort: "recNo",
    } satisfies List<Lot, InventoryListParams>);
  }

  /**
   * How much there is of each item, in all warehouses or in one.
   *
   * Source: `GET /Inventory/StockLevels`, `GET /Inventory/StockLevels/{wid}`.
   * @throws PermissionError when the warehouse is out of the client's scope.
   */
  listStockLevels(params: InventoryListParams = {}, options: ListOptions = {}): Paginator<StockLevel> {
    return paginatorOf(this.#send, {
      name: "inventory.listStockLevels",
      params,
      schema: inventoryListSchema,
      request: (params) => listRequest("/Inventory/StockLevels", params),
      options,
      answer: stockLevelPage,
      maxPageSize: MAX_PAGE_SIZE,
      keyOf: keyField("partNo"),
      stableSort: "partNo",
    } satisfies List<StockLevel, InventoryListParams>);
  }

  /**
   * Books stock in. Never sent twice where it may have been applied.
   *
   * Source: `POST /Inventory/Receive`.
   * @throws OutcomeUnknownError when it was sent and no answer came: ask {@link findReceipt} before sending it again.
   */
  async receive(input: ReceiveInput, options?: RequestOptions): Promise<TransactionResult> {
    const result = await this.#transact("Receive", receiveSchema, input, options);
    if (result.recNo !== undefined) this.#receipts.add(result.recNo);
    const [oldest] = this.#receipts;
    if (this.#receipts.size > RECEIPTS_REMEMBERED && oldest !== undefined) this.#receipts.delete(oldest);
    return result;
  }

  /**
   * Looks through the newest lots for the receipt that a `receive` of unknown outcome may have made: the same item,
   * warehouse and units, the same serials, tag and spot where they were given, received after it was sent. Takes one
   * request for each 250 lots that came since. `options` apply to each of them.
   *
   * It cannot know whether a receipt that is not there is still under way: wait, and ask again. Nor can it tell the lot
   * from one just like it that somebody else received at the same time, or recognise one that has been moved, issued
   * from or changed since. Give each receipt a `serial` of its own, and these doubts are gone.
   *
   * @throws InputValidationError when the error is not the `OutcomeUnknownError` of a `receive`.
   */
  async findReceipt(error: OutcomeUnknownError, options: RequestOptions = {}): Promise<FoundReceipt> {
    const { findReceipt } = await import("./find-receipt.js");
    return findReceipt(error, this.#receipts, (...list) => this.listLots(...list), options);
  }

  /**
   * Moves stock, within a warehouse or to another. Never sent twice where it may have been applied.
   *
   * Source: `POST /Inventory/Move`.
   * @throws OutcomeUnknownError when it was sent and no answer came.
   */
  move(input: MoveInput, options?: RequestOptions): Promise<TransactionResult> {
    return this.#transact("Move", moveSchema, input, options);
  }

  /**
   * Books stock out. Never sent twice where it may have been applied.
   *
   * Source: `POST /Inventory/Issue`.
   * @throws OutcomeUnknownError when it was sent and no answer came.
   */
  issue(input: IssueInput, options?: RequestOptions): Promise<TransactionResult> {
    return this.#transact("Issue", issueSchema, input, options);
  }

  #transact(
    kind: keyof typeof AFTERWARDS,
    schema: LazySchema<z.ZodType>,
    body: ReceiveInput | MoveInput | IssueInput,
    options: RequestOptions | undefined,
  ): Promise<TransactionResult> {
    return this.#send(() => {
      checkInput(`inventory.${kind.toLowerCase()}`, schema, body);
      const path = `/Inventory/${kind}`;
      return { method: "POST", path, body, answer: transactionResult, afterwards: AFTERWARDS[kind] };
    }, options);
  }
}

function listRequest(base: string, { wid, ...query }: InventoryListParams) {
  return { path: wid === undefined ? base : base + path`/${wid}`, query };
}

/** A success whatever its body, so what is wrong with it is logged at most. */
const transactionResult: Answer<TransactionResult> = (response, call, check) => {
  const text = readText(response);
  const parsed = parseJson(text);
  const body = parsed === undefined ? text || undefined : parsed;
  const inexact = check.mode === "off" || typeof body === "string" ? [] : inexactNumbers(text);
  if (inexact.length > 0) reportIssues(inexact, response, call, { ...check, mode: "warn" });
  const recNo = recordNumber(body);
  return { ...(recNo === undefined ? {} : { recNo }), body };
};
