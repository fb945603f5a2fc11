import * as z from "zod";
import type { Item } from "../../service/item.js";
import { skuSchema } from "../../service/key.js";
import { checkInput } from "../../shared/check.js";
import { PaginationError, ResponseValidationError } from "../../shared/errors/index.js";
import { integer, lazy, optionalFields } from "../../shared/field.js";
import { fieldOf } from "../../shared/unknown.js";
import { createPaginator } from "../lists/list.js";
import type { Page } from "../lists/page.js";
import { ListKnowledge } from "../search/list-knowledge.js";
import { UnsearchableListError } from "../search/order-proof.js";
import { findByPartNo } from "../search/part-no-search.js";
import type { SearchedList } from "../search/searched-list.js";
import { setNewest } from "../send/bounded-map.js";
import type { ApiRequest } from "../send/call.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";
import { invalidResponseError } from "../send/response.js";
import type { Sender } from "../send/send.js";
import type { InventoryList, InventoryListDefinition } from "./inventory-lists.js";
import { itemRequest } from "./items.js";

/** Where the records of an item are searched. */
export interface ItemScope {
  /**
   * Warehouse ID, which must be in the client's scope.
   * @default all warehouses in scope
   */
  wid?: number | undefined;
}

/** Options of `getStockLevel` and `getLots`. They apply to the whole call, which sends several requests. */
export interface ItemSearchOptions extends RequestOptions {
  /**
   * What happens if the service does not sort the list by `partNo`, or the lots of the item change too often. `"read"`: the whole list is read, and a warning is
   * logged once. `"error"`: the call rejects with a `PaginationError`.
   * @default "read"
   */
  ifUnsorted?: "read" | "error" | undefined;
}

const itemScopeSchema = /* @__PURE__ */ lazy(() => z.strictObject(optionalFields({ wid: integer() })));
const itemSearchOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...requestOptionsShape(), ...optionalFields({ ifUnsorted: z.enum(["read", "error"]) }) }),
);

const MAX_PART_NUMBERS = 10_000;
const MAX_LISTS = 100;

/** A list in which one item is searched. */
interface ItemRecordList<T> {
  /** The public method, for messages. */
  name: string;
  define: InventoryList<T>;
}

/** Finds the records of one item in the lists of the inventory, which the service cannot filter by item. */
export class ItemLookup {
  readonly #sender: Sender;
  /** Part numbers never change. */
  readonly #partNos = new Map<string, number>();
  /** By path. */
  readonly #known = new Map<string, ListKnowledge>();
  readonly #warned = new Set<string>();

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  async find<T extends { partNo: number }>(
    list: ItemRecordList<T>,
    { shortID, scope, options }: { shortID: string; scope: ItemScope; options: ItemSearchOptions },
  ): Promise<{ partNo: number; path: string; records: T[] }> {
    checkInput(list.name, skuSchema, shortID, ["shortID"]);
    const params = checkInput(list.name, itemScopeSchema, scope, [], { noun: "parameter" });
    const { ifUnsorted = "read", ...requestOptions } = checkInput(list.name, itemSearchOptionsSchema, options, [], {
      noun: "option",
    });
    const definition = list.define(params, GAPLESS_ONE_BY_ONE);
    const { path } = definition.request(params, definition.options);
    return this.#sender.series(requestOptions, async (each) => {
      const series: Sender = { ...this.#part(each) };
      const partNo = await this.#resolvePartNo(series, shortID);
      const searched = this.#searchedList(series, definition, path);
      try {
        return { partNo, path, records: await findByPartNo(searched, partNo) };
      } catch (error) {
        if (!(error instanceof UnsearchableListError)) throw error;
        if (ifUnsorted === "error") throw unsortedError(error);
        this.#warnOnce(list.name, error);
      }
      const records: T[] = [];
      const pages = createPaginator(series, definition).pages();
      for await (const record of recordsWithin(pages, `GET ${path}`))
        if (searched.partNoOf(record) === partNo) records.push(record);
      return { partNo, path, records };
    });
  }

  async #resolvePartNo(series: Sender, shortID: string): Promise<number> {
    const known = this.#partNos.get(shortID);
    if (known !== undefined) return known;
    const partNo = await series.send(partNoRequest(shortID));
    setNewest(this.#partNos, shortID, partNo, MAX_PART_NUMBERS);
    return partNo;
  }

  #searchedList<T extends { partNo: number }>(
    series: Sender,
    definition: InventoryListDefinition<T>,
    path: string,
  ): SearchedList<T> {
    const { pageReader, keyOf, maxPageSize } = definition;
    const known = this.#known.get(path) ?? new ListKnowledge(maxPageSize);
    setNewest(this.#known, path, known, MAX_LISTS);
    return {
      label: `GET ${path}`,
      known,
      keyOf,
      partNoOf: (record) => partNoOf(record, path),
      fetch: ({ request, direction, slotKind }) => {
        const query = { ...request, sort: "partNo", direction };
        return series.send({
          method: "GET",
          path,
          query,
          read: pageReader(request),
          ...(slotKind === "bulk" && { priority: "low" as const }),
        });
      },
    };
  }

  #part(each: RequestOptions): Sender {
    const sender = this.#sender;
    return {
      send: (request, _options, signal) => sender.send(request, each, signal),
      series: (_options, run) => run(each),
      guard: (what, run) => sender.guard(what, run),
      warn: (message) => sender.warn(message),
      limiter: sender.limiter,
      closed: sender.closed,
    };
  }

  #warnOnce(name: string, { message }: Error): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#sender.warn(
      `${message}, so the whole list is read for one item. Keep a mirror (stocklot/mirror) and query that instead.`,
    );
  }
}

/** Of a list that changes at each request, at most this many pages more than three times what it has are read. */
const MAX_EXTRA_LIST_PAGES = 40;

/** The records of all pages. Throws if the list changes so fast that its end is not reached. */
async function* recordsWithin<T>(pages: AsyncIterable<Page<T>>, label: string): AsyncGenerator<T, void> {
  let read = 0;
  let allowed = 0;
  for await (const page of pages) {
    if (read === 0) allowed = MAX_EXTRA_LIST_PAGES + 3 * page.pageCount;
    read += 1;
    if (read > allowed)
      throw new PaginationError(`${label}: the list changes faster than it can be read. Try again later.`);
    yield* page.value;
  }
}

/**
 * One request after another: they belong to one call, and a series ignores the signal that would abort a page read ahead. As
 * in any iteration, pages after the first are bulk requests.
 */
const GAPLESS_ONE_BY_ONE = { gapless: true, readAhead: 0 } as const;

const unsortedError = ({ message }: Error) =>
  new PaginationError(
    `${message}, so one item cannot be searched in this list. Leave out ifUnsorted to read the whole list.`,
  );

/** A record without a part number may belong to any item, however strictly responses are validated. */
function partNoOf(record: unknown, path: string): number {
  const partNo = fieldOf(record, "partNo");
  if (Number.isSafeInteger(partNo) || (typeof partNo === "string" && /^\d{1,15}$/.test(partNo))) return Number(partNo);
  const message = "expected an integer";
  throw new ResponseValidationError(`GET ${path}: a record has no integer partNo, so one item cannot be found.`, {
    status: 200,
    issues: [{ path: ["value", "partNo"], message }],
  });
}

/** The item's part number, which must be an integer however strictly responses are validated: the search is based on it. */
function partNoRequest(shortID: string): ApiRequest<number> {
  const request = itemRequest(shortID, "id");
  return {
    ...request,
    async read(context) {
      const { partNo }: Partial<Item> = await request.read(context);
      if (partNo !== undefined && Number.isSafeInteger(partNo)) return partNo;
      throw invalidResponseError(context, [{ path: ["partNo"], message: "expected an integer" }]);
    },
  };
}
