import * as z from "zod";
import type { Item } from "../../service/item.js";
import { comparableSku, skuSchema } from "../../service/key.js";
import type { InventoryListParams } from "../../service/list-params.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import { READS } from "../../service/operations.js";
import { setNewest } from "../../shared/bounded-map.js";
import { checkInput } from "../../shared/check.js";
import { NotFoundError, PaginationError } from "../../shared/errors/index.js";
import { integer, lazy, optionalFields } from "../../shared/field.js";
import { fieldOf } from "../../shared/unknown.js";
import { createPageReader } from "../lists/decode-page.js";
import { type ListDefinition, type ListOptions, openReader } from "../lists/list.js";
import type { InventoryList } from "../resources/inventory-lists.js";
import { itemRequest } from "../resources/items.js";
import type { ApiRequest } from "../send/call.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";
import { invalidResponseError } from "../send/response.js";
import type { ClientSender, Sender } from "../send/send.js";
import { findByPartNo } from "./find-by-part-no.js";
import { SortedLists } from "./open-list.js";
import type { SearchedItem } from "./sku-order.js";
import { readEnd, type SortedList, UnsearchableListError } from "./sorted-list.js";

/** Where the records of an item are searched. */
export interface ItemScope {
  /**
   * Warehouse ID, which must be in the client's scope.
   * @default all warehouses in scope
   */
  wid?: number | undefined;
}

/** Options of `getStockLevel`, `getStockLevels` and `getLots`. They apply to the whole call, which sends several requests. */
export interface ItemSearchOptions extends RequestOptions {
  /**
   * What happens if the list cannot be searched. `"read"`: the whole list is read, and a warning is logged once. `"error"`: the
   * call rejects with a `PaginationError`.
   * @default "read"
   */
  ifUnsorted?: "read" | "error" | undefined;
}

const skusSchema = /* @__PURE__ */ lazy(() => z.array(skuSchema()));
const itemScopeSchema = /* @__PURE__ */ lazy(() => z.strictObject(optionalFields({ wid: integer() })));
const itemSearchOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...requestOptionsShape(), ...optionalFields({ ifUnsorted: z.enum(["read", "error"]) }) }),
);

const MAX_PART_NUMBERS = 10_000;
/** From this many SKUs on, it is worth a request to learn how long the list of items is. */
const MANY_SKUS = 13;
/** What a search costs, at the pessimistic end of the usual. */
const PAGES_PER_SEARCH = 2;
/** They belong to one call, and a series ignores the signal that would abort a page read ahead. */
const ONE_BY_ONE: ListOptions = { readAhead: 0 };

/** The records of one item in a list. */
export interface ItemRecords<T> {
  partNo: number;
  records: T[];
}

/** One call, while it runs. */
interface Lookup<T> {
  series: Sender & { readonly requests: number };
  list: SortedList<T>;
  definition: ListDefinition<T, InventoryListParams>;
}

/** Finds the records of items in the lists of the inventory, which the service cannot filter by item. */
export class ItemLookup {
  readonly #sender: ClientSender;
  /** Part numbers never change. */
  readonly #partNos = new Map<string, number>();
  readonly #memories = new SortedLists();
  readonly #warned = new Set<string>();

  constructor(sender: ClientSender) {
    this.#sender = sender;
  }

  /** The records of each item, by the SKU as asked. Throws one `NotFoundError` for all that do not exist. */
  async find<T extends { partNo: number }>(
    name: string,
    define: InventoryList<T>,
    input: { shortIDs: readonly string[]; scope: ItemScope; options: ItemSearchOptions },
  ): Promise<{ path: string; found: Map<string, ItemRecords<T>> }> {
    const shortIDs = [...new Set(checkInput(name, skusSchema, input.shortIDs, ["shortIDs"]))];
    const params = checkInput(name, itemScopeSchema, input.scope, [], { noun: "parameter" });
    const options = checkInput(name, itemSearchOptionsSchema, input.options, [], { noun: "option" });
    const { ifUnsorted = "read", ...requestOptions } = options;
    const definition = define(params, { ...ONE_BY_ONE, gapless: true });
    const { path } = definition.request(params, definition.options);
    if (shortIDs.length === 0) return { path, found: new Map() };
    return this.#sender.series(requestOptions, async (series) => {
      const list = this.#memories.open(series, { reading: definition.reading(params), path, column: "partNo" });
      const lookup = { series, list, definition };
      const partNos = await this.#resolvePartNos(lookup, shortIDs);
      const skus = new Map([...partNos].map(([shortID, partNo]) => [partNo, shortID]));
      const byPartNo = await this.#findAll(lookup, skus, ifUnsorted);
      const found = new Map<string, ItemRecords<T>>();
      for (const [shortID, partNo] of partNos) {
        const records = byPartNo.get(partNo);
        if (records) found.set(shortID, records);
      }
      return { path, found };
    });
  }

  /** The item's part number, in one request at most. Throws as `items.get` does, or if the service returns another item. */
  async partNoOf(shortID: string, options: RequestOptions): Promise<number> {
    const known = this.#partNos.get(shortID);
    if (known !== undefined) return known;
    const partNo = await this.#sender.series(options, (series) => series.send(partNoRequest(shortID)));
    setNewest(this.#partNos, shortID, partNo, MAX_PART_NUMBERS);
    return partNo;
  }

  /**
   * Searches a list for an item, and returns the records of all pages that were read, whatever item they are listed under.
   * Returns `isFound: false` if only the whole list would show the records of the item; that is not read.
   */
  async show<T extends { partNo: number }>(
    define: InventoryList<T>,
    item: SearchedItem,
    options: RequestOptions,
  ): Promise<{ shown: T[]; isFound: boolean }> {
    const definition = define({}, {});
    const { path } = definition.request({}, {});
    return this.#sender.series(options, async (series) => {
      const list = this.#memories.open(series, { reading: definition.reading({}), path, column: "partNo" });
      try {
        await findByPartNo(list, item);
        return { shown: list.shown.flat(), isFound: true };
      } catch (error) {
        if (!(error instanceof UnsearchableListError)) throw error;
        return { shown: list.shown.flat(), isFound: false };
      }
    });
  }

  /** In the order asked. Those that are not remembered are looked up one by one, or in the list of items if that is shorter. */
  async #resolvePartNos<T>(lookup: Lookup<T>, shortIDs: readonly string[]): Promise<Map<string, number>> {
    const { series, list } = lookup;
    const unknown = new Set(shortIDs.filter((shortID) => !this.#partNos.has(shortID)));
    const count = unknown.size;
    let listed = new Map<string, number>();
    if (count > 1) {
      // The list of items is at least as long as the one of their stock levels.
      if (list.memory.total === 0 && count < MANY_SKUS) await readEnd(list, "DESC").catch(ignoreUnsearchable);
      if (count > pagesOf(list.memory.total)) listed = await readPartNos(lookup, unknown);
    }
    const missing: { shortID: string; error: NotFoundError }[] = [];
    const partNos = new Map<string, number>();
    for (const shortID of shortIDs) {
      try {
        const known = listed.get(shortID) ?? this.#partNos.get(shortID);
        const partNo = known ?? (await series.send(partNoRequest(shortID)));
        partNos.set(shortID, partNo);
        setNewest(this.#partNos, shortID, partNo, MAX_PART_NUMBERS);
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
        missing.push({ shortID, error });
      }
    }
    const [first, second] = missing;
    if (!first) return partNos;
    if (!second) throw first.error;
    const names = missing.map(({ shortID }) => shortID);
    const { status, code, method, path, headers, attempts } = first.error;
    const message = `Items ${names.join(", ")} were not found.`;
    throw new NotFoundError({ status, code, message, method, path, headers, attempts, details: { shortIDs: names } });
  }

  /** Searches, in the order of part numbers, and reads the whole list if that is cheaper or the search impossible. */
  async #findAll<T>(
    lookup: Lookup<T>,
    skus: ReadonlyMap<number, string>,
    ifUnsorted: "read" | "error",
  ): Promise<Map<number, ItemRecords<T>>> {
    const { series, list, definition } = lookup;
    const found = new Map<number, ItemRecords<T>>();
    const partNos = new Set(skus.keys());
    const sorted = [...partNos].sort((one, next) => one - next);
    try {
      for (const [index, partNo] of sorted.entries()) {
        const pages = pagesOf(list.memory.total);
        const left = (sorted.length - index) * PAGES_PER_SEARCH;
        // In all, never more than the lists of items and of levels have pages.
        const { requests } = series;
        const isListCheaper = sorted.length > 1 && requests + left > 2 * pages && requests <= pages;
        if (isListCheaper && pages > 1) return await this.#readAll(lookup, partNos);
        const records = await findByPartNo(list, { partNo, shortID: skus.get(partNo) });
        found.set(partNo, { partNo, records });
      }
      return found;
    } catch (error) {
      if (!(error instanceof UnsearchableListError)) throw error;
      if (ifUnsorted === "error")
        throw new PaginationError(`${error.message}. Leave out ifUnsorted to read the whole list.`);
      this.#warnOnce(definition.name, error.message);
      return await this.#readAll(lookup, partNos);
    }
  }

  /** Reads the whole list; twice if it shows fewer records than the service counts, which a client with a scope may always see. */
  async #readAll<T>(
    { series, list, definition }: Lookup<T>,
    partNos: ReadonlySet<number>,
  ): Promise<Map<number, ItemRecords<T>>> {
    // The order of part numbers may have been refuted.
    const { stableSort, ...reading } = definition.reading(definition.params);
    const sort = stableSort === "partNo" ? undefined : stableSort;
    const everything = { ...definition, params: { ...definition.params, sort }, reading: () => reading };
    let before: Set<unknown> | undefined;
    for (;;) {
      const keys = new Set<unknown>();
      const found = new Map([...partNos].map((partNo) => [partNo, { partNo, records: [] as T[] }]));
      const reader = openReader(series, everything);
      for await (const { value } of reader.pages()) {
        for (const record of value) {
          keys.add(list.keyOf(record));
          found.get(list.numberOf(record))?.records.push(record);
        }
      }
      if (reader.isComplete || (before && isSameSet(before, keys))) return found;
      if (before)
        throw new PaginationError(`${list.label}: two readings of a list that is short differ. Read it again later.`);
      before = keys;
    }
  }

  #warnOnce(name: string, problem: string): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#sender.warn(
      `${problem}, so the whole list is read for one item. Keep a mirror (stocklot/mirror) and query that instead.`,
    );
  }
}

const isSameSet = (one: ReadonlySet<unknown>, other: ReadonlySet<unknown>) =>
  one.size === other.size && [...one].every((key) => other.has(key));

const pagesOf = (total: number) => Math.max(1, Math.ceil(total / MAX_PAGE_SIZE));

function ignoreUnsearchable(error: unknown): void {
  if (!(error instanceof UnsearchableListError)) throw error;
}

const anyItemPageReader = /* @__PURE__ */ createPageReader<unknown>(/* @__PURE__ */ lazy(() => z.unknown()));

/** The part numbers of items by the list of items, unless its first page shows that it is longer than they are many. */
async function readPartNos(
  { series, list }: Pick<Lookup<unknown>, "series" | "list">,
  shortIDs: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const partNos = new Map<string, number>();
  for (let number = 1; ; number += 1) {
    const query = { page: number, pageSize: MAX_PAGE_SIZE };
    const request = { method: "GET", path: READS.listAllItems.path, query, read: anyItemPageReader(query) };
    const page = await series.send({ ...request, priority: number === 1 ? undefined : "low" });
    // Until a page of the list itself has been read.
    list.memory.total ||= page.totalCount;
    for (const item of page.value) {
      const [shortID, partNo] = [fieldOf(item, "shortID"), fieldOf(item, "partNo")];
      if (typeof shortID === "string" && shortIDs.has(shortID) && Number.isSafeInteger(partNo))
        partNos.set(shortID, Number(partNo));
    }
    // The rest is looked up one by one, also if the list never ends.
    const isLonger = shortIDs.size <= pagesOf(page.totalCount);
    if (partNos.size === shortIDs.size || isLonger || !page.hasMore || number > 2 * pagesOf(page.totalCount))
      return partNos;
  }
}

/**
 * Requests the item's part number, which must be an integer however strictly responses are validated: the search is based on
 * it. An item with another SKU says nothing about the one that was asked for.
 */
function partNoRequest(shortID: string): ApiRequest<number> {
  const request = itemRequest(shortID, "id");
  return {
    ...request,
    async read(context) {
      const { partNo, shortID: served }: Partial<Item> = await request.read(context);
      if (served !== undefined && comparableSku(String(served)) !== comparableSku(shortID))
        throw invalidResponseError(context, [{ path: ["shortID"], message: `expected "${shortID}"` }]);
      if (partNo !== undefined && Number.isSafeInteger(partNo)) return partNo;
      throw invalidResponseError(context, [{ path: ["partNo"], message: "expected an integer" }]);
    },
  };
}
