import * as z from "zod";
import { type Item, itemSchema } from "../../service/item.js";
import {
  type CreateItemInput,
  createItemInputSchema,
  type ItemChanges,
  itemChangesSchema,
} from "../../service/item-input.js";
import { lazyIntegerSchema, skuSchema } from "../../service/key.js";
import { type ItemListParams, itemListParamsSchema } from "../../service/list-params.js";
import { LISTS } from "../../service/lists.js";
import { READS, WRITES } from "../../service/operations.js";
import type { OutcomeUnknownError, SentRequest } from "../../shared/errors/index.js";
import { checkInput, lazy } from "../../shared/schema.js";
import { type FoundItem, findCreated } from "../find/find-item.js";
import { type FindOptions, readFindOptions } from "../find/look-until-certain.js";
import { readSentCreation } from "../find/sent-write.js";
import { createPageReader } from "../lists/decode-page.js";
import { createPaginator, type ListDefinition, type ListOptions, readingOf } from "../lists/list.js";
import type { Paginator } from "../lists/paginator.js";
import { itemReader, itemRequest } from "../search/part-numbers.js";
import { describeFalseSuccess } from "../send/false-success.js";
import { requestOf } from "../send/payload.js";
import type { RequestOptions } from "../send/request-options.js";
import type { ClientRequester } from "../send/requester.js";
import { createJsonReader } from "../send/response.js";
import { bindMethods } from "./bind-methods.js";
import {
  type CreatedItem,
  createCreatedItemReader,
  createItemStatusReader,
  type DiscontinuedItem,
  type UpdatedItem,
} from "./item-status.js";

const RESEND_HINT = "Resending it has the same result.";

const itemArraySchema = /* @__PURE__ */ lazy(() => z.array(itemSchema()));
const itemArrayReader = /* @__PURE__ */ createJsonReader(itemArraySchema);
const itemPageReader = /* @__PURE__ */ createPageReader(itemSchema);

/**
 * The item catalog.
 *
 * Every method can reject with:
 * - `InputValidationError`: an argument is wrong; nothing was sent
 * - `AuthenticationError` (401 or refused credentials), `PermissionError` (403), `RateLimitError` (429, after the retries),
 *   `ServerError` (5xx), or another `ApiError`
 * - `TimeoutError`, `ClientClosedError`, or another `ConnectionError`: there is no usable response
 * - `ResponseValidationError`: the response is not what the service documents
 * - `PaginationError` (iterations): the service reports more pages forever, or the list changes too fast
 * - `OutcomeUnknownError` (writes only): the write was sent and may or may not have been applied
 * - the reason of the `signal`, if it aborts before a write was sent, or during a read
 *
 * Source: service interface, "GET /Item" to "DELETE /Item/{shortID}".
 */
export class Items {
  readonly #requester: ClientRequester;

  /** @internal */
  constructor(requester: ClientRequester) {
    this.#requester = requester;
    bindMethods(this, Items);
  }

  /**
   * The active items, or all items with `includeDiscontinued`. Sorted by SKU unless `sort` names another column.
   *
   * Source: `GET /Item`, `GET /Item/All`.
   *
   * @example
   * for await (const item of client.items.list({ includeDiscontinued: true }))
   *   console.log(item.shortID);
   */
  list(params: ItemListParams = {}, options: ListOptions = {}): Paginator<Item> {
    return createPaginator(this.#requester, {
      name: "items.list",
      params,
      schema: itemListParamsSchema,
      request: ({ includeDiscontinued, ...query }) => ({
        path: (includeDiscontinued ? READS.listAllItems : READS.readItems).path,
        query,
      }),
      reading: () => readingOf(LISTS.items, itemPageReader),
      options,
    } satisfies ListDefinition<Item, ItemListParams>);
  }

  /**
   * All items of a category, in one response without paging.
   *
   * Source: `GET /Item?Category=`.
   */
  async listByCategory(categoryID: number, options?: RequestOptions): Promise<Item[]> {
    checkInput("items.listByCategory", lazyIntegerSchema, categoryID, ["categoryID"]);
    return this.#requester.send(
      { method: "GET", path: READS.readItems.path, query: { Category: categoryID }, read: itemArrayReader },
      options,
    );
  }

  /**
   * One item by its SKU.
   *
   * Source: `GET /Item?key=…&type=id`.
   *
   * @example
   * const { description, uOM } = await client.items.get("BOLT-M8");
   * @throws NotFoundError if there is no such item.
   */
  async get(shortID: string, options?: RequestOptions): Promise<Item> {
    checkInput("items.get", skuSchema, shortID, ["shortID"]);
    return this.#requester.send(itemRequest(shortID, "id"), options);
  }

  /**
   * The item that an alias (alternate part number) points to.
   *
   * Source: `GET /Item?key=…&type=alias`.
   * @throws NotFoundError if there is no such alias.
   */
  async getByAlias(alias: string, options?: RequestOptions): Promise<Item> {
    checkInput("items.getByAlias", skuSchema, alias, ["alias"]);
    return this.#requester.send(itemRequest(alias, "alias"), options);
  }

  /**
   * One item by the part number that the service assigned to it.
   *
   * Source: `GET /Item/{partNo}`.
   * @throws NotFoundError if there is no such item.
   */
  async getByPartNo(partNo: number, options?: RequestOptions): Promise<Item> {
    checkInput("items.getByPartNo", lazyIntegerSchema, partNo, ["partNo"]);
    return this.#requester.send({ ...requestOf(READS.getItemByPartNo, partNo), read: itemReader }, options);
  }

  /**
   * Adds an item. Not retried if it may have been applied.
   *
   * Source: `POST /Item`. The service responds with a reference or with the whole item; `item` is set in the second case.
   *
   * @example
   * await client.items.create({
   *   shortID: "BOLT-M10",
   *   description: "Bolt M10 x 40",
   *   uOM: "EA",
   * });
   * @throws BadRequestError or ConflictError if the SKU exists already: the document lists both 400 and 409.
   * @throws OutcomeUnknownError if it was sent and no usable response arrived: resend it only if {@link findCreated}
   * reports "not-applied".
   */
  async create(input: CreateItemInput, options?: RequestOptions): Promise<CreatedItem> {
    const body = checkInput("items.create", createItemInputSchema, input);
    return this.#requester.send(
      {
        ...requestOf(WRITES.create),
        shortID: body.shortID,
        body,
        read: createCreatedItemReader(body.shortID),
        recoveryHint:
          'Resend it only if client.items.findCreated(error) reports "not-applied", which takes up to a minute.',
        describeFalseSuccess: (response) => describeFalseSuccess(response, "created"),
      },
      options,
    );
  }

  /**
   * Searches for the item of a `create` with unknown outcome. The item must exist as it was sent, and must have been
   * created after the request was sent, by the service's clock. An item that was created more than 48 hours before is
   * another one: the create was refused.
   *
   * The service may still be working on a request that timed out. A missing item is therefore reported as "not-applied" only
   * after `settleMs` has passed since the request was sent; until then it is requested again after 1, 2, 4, 8 … s. `options`
   * apply to each request, except `settleMs` and `totalTimeoutMs`.
   *
   * @example
   * import { OutcomeUnknownError } from "stocklot";
   *
   * const input = { shortID: "BOLT-M10", uOM: "EA" };
   * try {
   *   await client.items.create(input);
   * } catch (error) {
   *   if (!(error instanceof OutcomeUnknownError)) throw error;
   *   const { outcome } = await client.items.findCreated(error);
   *   if (outcome === "not-applied") await client.items.create(input);
   * }
   * @param sent the `OutcomeUnknownError`, or its `request` as restored from JSON
   * @throws InputValidationError if `sent` is neither the `OutcomeUnknownError` of a `create` nor its request.
   * @throws TimeoutError if the outcome is not certain within `options.totalTimeoutMs`.
   */
  async findCreated(sent: OutcomeUnknownError | SentRequest, options: FindOptions = {}): Promise<FoundItem> {
    const method = "items.findCreated";
    return await this.#requester.asOneMethod(method, async () =>
      findCreated({
        method,
        sent: readSentCreation(sent),
        options: readFindOptions(method, options),
        closed: this.#requester.closed,
        get: (shortID, lookOptions) => this.get(shortID, lookOptions),
      }),
    );
  }

  /**
   * Changes an item. Fields that are left out keep their values. Retried after failures, since a second identical
   * update has no further effect.
   *
   * Source: `PUT /Item`.
   *
   * @example
   * await client.items.update("BOLT-M8", { description: "Bolt M8 x 40, zinc plated" });
   * @throws NotFoundError if there is no such item.
   */
  async update(shortID: string, changes: ItemChanges, options?: RequestOptions): Promise<UpdatedItem> {
    checkInput("items.update", skuSchema, shortID, ["shortID"]);
    const checked = checkInput("items.update", itemChangesSchema, changes, ["changes"]);
    return this.#requester.send(
      {
        ...requestOf(WRITES.update),
        shortID,
        body: { ...checked, shortID },
        read: createItemStatusReader("updated"),
        describeFalseSuccess: (response) => describeFalseSuccess(response, "updated"),
        recoveryHint: RESEND_HINT,
      },
      options,
    );
  }

  /**
   * Discontinues an item: it keeps its stock, but is listed only with `includeDiscontinued`. Retried after failures.
   *
   * Source: `DELETE /Item/{shortID}`.
   * @throws NotFoundError if there is no such item.
   */
  async discontinue(shortID: string, options?: RequestOptions): Promise<DiscontinuedItem> {
    checkInput("items.discontinue", skuSchema, shortID, ["shortID"]);
    return this.#requester.send(
      {
        ...requestOf(WRITES.discontinue, shortID),
        shortID,
        read: createItemStatusReader("discontinued"),
        describeFalseSuccess: (response) => describeFalseSuccess(response, "discontinued"),
        recoveryHint: RESEND_HINT,
      },
      options,
    );
  }
}
