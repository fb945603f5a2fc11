import type * as z from "zod";
import type { InventoryListParams } from "../../service/list-params.js";
import { setNewest } from "../../shared/bounded-map.js";
import { isNoSuchItem } from "../../shared/errors/api-errors.js";
import { NotFoundError, PaginationError, TimeoutError } from "../../shared/errors/index.js";
import { checkInput, type LazySchema } from "../../shared/schema.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { race, whenAborted } from "../../shared/time/wait.js";
import { durationOf, isListCheaper, requestsForList, slotAllowanceOf } from "../lists/effort.js";
import type { InventoryList } from "../lists/inventory-lists.js";
import { type ListDefinition, type ListOptions, warnOnce } from "../lists/list.js";
import type { RequestOptions } from "../send/request-options.js";
import type { ClientRequester, Requester, RequestGroup } from "../send/requester.js";
import { SharedRequests } from "../send/shared-requests.js";
import { Admission, type SearchRequest } from "./admission.js";
import { findByPartNo } from "./find-by-part-no.js";
import { pagesOf, partNoRequest, readPartNos } from "./part-numbers.js";
import { type ReadTime, ResultCache } from "./result-cache.js";
import {
  type ItemSearchOptions,
  itemSearchOptionsSchema,
  type StockLevelsScope,
  skusSchema,
} from "./search-options.js";
import type { SearchedItem } from "./sku-order.js";
import { readEnd, type SortedList, SortedLists, UnsearchableListError, unlessUnsearchable } from "./sorted-list.js";
import { readByPartNo, WholeReadings } from "./whole-readings.js";

const MAX_PART_NUMBERS = 10_000;
/**
 * If the length of the lists is not known, it is read first. With at least this many SKUs, the first page of the list of
 * items shows it. With fewer SKUs, the end of the searched list shows it, which the search needs anyway.
 */
const MANY_SKUS = 13;
/** How many pages a search reads, as a pessimistic estimate. */
const PAGES_PER_SEARCH = 2;
/** How many more pages the first search in a list reads: one at each end. */
const PAGES_AT_ENDS = 2;
/** How many pages the proof of the order reads. */
const PAGES_OF_PROOF = 5;
/** No read-ahead: the pages belong to one call, and a request group cannot abort a single page. */
const ONE_BY_ONE: ListOptions = { readAhead: 0 };

export interface ItemRecords<T> {
  partNo: number;
  records: T[];
}

export interface FoundItems<T> {
  path: string;
  /** The records by SKU, as the caller spelled it. */
  found: Map<string, ItemRecords<T>>;
  /** The SKUs that do not exist. */
  missing: Map<string, NotFoundError>;
}

interface Lookup<T> {
  group: RequestGroup;
  list: SortedList<T>;
  definition: ListDefinition<T, InventoryListParams>;
  ifUnsorted: "read" | "error";
  maxAgeMs: number;
  options: RequestOptions;
  startedAt: number;
}

/** Finds the records of items in the lists of the inventory, which the service cannot filter by item. */
export class ItemLookup {
  readonly #requester: ClientRequester;
  /** Part numbers never change. */
  readonly #partNos = new Map<string, number>();
  readonly #memories = new SortedLists();
  readonly #results: ResultCache;
  readonly #admission: Admission;
  readonly #wholeReadings: WholeReadings;
  /** Counts the searches that share no requests. The count makes their keys differ. */
  #unshared = 0;
  /** The first of the searches of `show`, while the order is not proved. */
  #firstShown: Promise<void> | undefined;

  constructor(requester: ClientRequester) {
    this.#requester = requester;
    this.#results = new ResultCache(requester.writes);
    this.#admission = new Admission(requester.limiter);
    this.#wholeReadings = new WholeReadings(requester);
  }

  /**
   * Finds the records of items. A result that is young enough (`maxAgeMs`) is returned without a request. With `onMissing:
   * "omit"`, SKUs that do not exist are not reported as missing.
   *
   * @param input `scopeSchema`: what the method accepts as `scope`.
   */
  async find<T extends { partNo: number }>(
    name: string,
    define: InventoryList<T>,
    input: {
      shortIDs: readonly string[];
      scope: StockLevelsScope;
      scopeSchema: LazySchema<z.ZodType>;
      options: ItemSearchOptions;
    },
  ): Promise<FoundItems<T>> {
    const scope = checkInput(name, input.scopeSchema, input.scope, [], { noun: "parameter" });
    const { wid, maxAgeMs = 0, onMissing } = scope;
    const params = { wid };
    const shortIDs = [...new Set(checkInput(name, skusSchema, input.shortIDs, ["shortIDs"]))];
    const options = checkInput(name, itemSearchOptionsSchema, input.options, [], { noun: "option" });
    const { ifUnsorted = "read", ...requestOptions } = options;
    const definition = define(params, { ...ONE_BY_ONE, gapless: true });
    const { path } = definition.request(params, definition.options);
    const result: FoundItems<T> = { path, found: new Map(), missing: new Map() };
    const searched: string[] = [];
    for (const shortID of shortIDs) {
      const kept = this.#requester.isClosed
        ? undefined
        : this.#results.get(path, shortID, this.#partNos.get(shortID), maxAgeMs);
      if (!kept) searched.push(shortID);
      else if ("missing" in kept) result.missing.set(shortID, kept.missing);
      else result.found.set(shortID, { partNo: this.#partNos.get(shortID) ?? 0, records: keptRecords<T>(kept.record) });
    }
    if (searched.length === 0) return inOrder(shortIDs, result, onMissing);
    const startedAt = monotonicNowMs();
    const { epoch } = this.#requester.writes;
    const search = async (group: RequestGroup) => {
      const list = this.#memories.open(group, { reading: definition.reading(params), path, column: "partNo" });
      const lookup = { group, list, definition, ifUnsorted, maxAgeMs, options: requestOptions, startedAt };
      const leave = await this.#admission.enter(this.#searchRequest(lookup, searched));
      try {
        const { partNos, missing } = await this.#resolvePartNos(lookup, searched);
        const skus = new Map([...partNos].map(([shortID, partNo]) => [partNo, shortID]));
        const byPartNo = skus.size > 0 ? await this.#findAll(lookup, skus) : new Map();
        for (const [shortID, error] of missing) result.missing.set(shortID, error);
        for (const [shortID, partNo] of partNos) {
          const { records = [] } = byPartNo.get(partNo) ?? {};
          // Copied, because other calls may receive the same records.
          result.found.set(shortID, { partNo, records: structuredClone(records) });
        }
        const sentAt = Math.min(group.oldestSentAt, startedAt);
        if (list.isUnique && group.isShared) this.#keep(result, searched, { sentAt, epoch });
      } finally {
        leave();
      }
    };
    await this.#requester.group(requestOptions, search, true);
    return inOrder(shortIDs, result, onMissing);
  }

  #keep<T>({ path, found, missing }: FoundItems<T>, shortIDs: readonly string[], time: ReadTime): void {
    for (const shortID of shortIDs) {
      const error = missing.get(shortID);
      const [record = null] = found.get(shortID)?.records ?? [];
      this.#results.keep(path, shortID, error ? { missing: error } : { record: structuredClone(record) }, time);
    }
  }

  /** Returns what a search will probably send, as far as the list is known. */
  #searchRequest<T>({ list, group, options }: Lookup<T>, shortIDs: readonly string[]): SearchRequest {
    const { memory, label, isUnique } = list;
    const partNos = shortIDs.map((shortID) => this.#partNos.get(shortID));
    const lookUps = partNos.filter((partNo) => partNo === undefined).length;
    const isCold = memory.total === 0;
    const places = partNos.map((partNo) => (partNo !== undefined && memory.places.has(partNo) ? 1 : PAGES_PER_SEARCH));
    const spare = lookUps > 0 ? 1 : 0;
    const proof = isUnique || memory.isProven ? 0 : PAGES_OF_PROOF;
    const pages = places.reduce((sum, one) => sum + one, isCold ? PAGES_AT_ENDS : 0) + spare + proof;
    const most = isCold ? Infinity : 2 * pagesOf(memory.total) + 1;
    this.#unshared += 1;
    const shared = group.isShared ? SharedRequests.keyOf(options) : this.#unshared;
    return {
      label,
      key: JSON.stringify([label, shared, shortIDs.toSorted()]),
      requests: Math.min(lookUps + pages, most),
      priority: options.priority ?? "normal",
      group,
    };
  }

  /**
   * Returns the item's part number, with at most one request. Throws what `items.get` throws, or if another item is
   * returned.
   */
  async partNoOf(shortID: string, options: RequestOptions): Promise<number> {
    const known = this.#partNos.get(shortID);
    if (known !== undefined) return known;
    const partNo = await this.#requester.group(options, (group) => group.send(partNoRequest(shortID)));
    setNewest(this.#partNos, shortID, partNo, MAX_PART_NUMBERS);
    return partNo;
  }

  /**
   * Searches a list for an item, and returns the records of all pages that were read, whatever item they are listed under.
   * Returns `isFound: false` if only the whole list would show the records of the item. The whole list is not read.
   */
  async show<T extends { partNo: number }>(
    define: InventoryList<T>,
    item: SearchedItem,
    options: RequestOptions,
  ): Promise<{ shown: T[]; isFound: boolean }> {
    const definition = define({}, {});
    const { path } = definition.request({}, {});
    return this.#requester.group(options, async (group) => {
      const list = this.#memories.open(group, { reading: definition.reading({}), path, column: "partNo" });
      // One proof of the order serves all look-ups that run at the same time.
      if (this.#firstShown && !list.memory.isProven) await race(this.#firstShown, whenAborted(group.lifetime));
      const search = findByPartNo(list, item).then(() => true, unlessUnsearchable);
      this.#firstShown ??= search.then(
        () => {},
        () => {},
      );
      try {
        const isFound = (await search) ?? false;
        return { shown: list.shown.flat(), isFound };
      } finally {
        if (!list.memory.isProven) this.#firstShown = undefined;
      }
    });
  }

  /**
   * Returns part numbers in the order of the SKUs. Unknown part numbers are looked up one by one, or in the list of
   * items if that takes fewer requests.
   */
  async #resolvePartNos<T>(
    lookup: Lookup<T>,
    shortIDs: readonly string[],
  ): Promise<{ partNos: Map<string, number>; missing: Map<string, NotFoundError> }> {
    const { group, list } = lookup;
    const unknown = new Set(shortIDs.filter((shortID) => !this.#partNos.has(shortID)));
    const count = unknown.size;
    let listed = new Map<string, number>();
    if (count > 1) {
      // The list of items is at least as long as the list of stock levels.
      if (list.memory.total === 0 && count < MANY_SKUS) await readEnd(list, "DESC").catch(unlessUnsearchable);
      if (isListCheaper(count, list.memory.total)) listed = await readPartNos(lookup, unknown);
    }
    const missing = new Map<string, NotFoundError>();
    const partNos = new Map<string, number>();
    for (const shortID of shortIDs) {
      try {
        const known = listed.get(shortID) ?? this.#partNos.get(shortID);
        const partNo = known ?? (await group.send(partNoRequest(shortID)));
        partNos.set(shortID, partNo);
        setNewest(this.#partNos, shortID, partNo, MAX_PART_NUMBERS);
      } catch (error) {
        if (!isNoSuchItem(error)) throw error;
        missing.set(shortID, error);
      }
    }
    return { partNos, missing };
  }

  /**
   * Searches for the items one after the other, in the order of their part numbers. Reads the whole list instead if
   * that takes fewer requests, or if the list cannot be searched.
   */
  async #findAll<T>(lookup: Lookup<T>, skus: ReadonlyMap<number, string>): Promise<Map<number, ItemRecords<T>>> {
    const { group, list, definition, ifUnsorted } = lookup;
    const found = new Map<number, ItemRecords<T>>();
    const partNos = new Set(skus.keys());
    const sorted = [...partNos].sort((one, next) => one - next);
    try {
      for (const [index, partNo] of sorted.entries()) {
        const pages = pagesOf(list.memory.total);
        const left = (sorted.length - index) * PAGES_PER_SEARCH;
        // A call never sends more requests than the lists of items and of stock levels have pages.
        const { requests } = group;
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
      const advice = "Keep a mirror (stocklot/mirror) and query that instead.";
      const message = `${error.message}, so the whole list is read for one item. ${advice}`;
      warnOnce(this.#requester, definition.name, message);
      return await this.#readAll(lookup, partNos);
    }
  }

  /**
   * Reads the whole list, and returns the records of these items. Calls that need the list at the same time share one
   * reading.
   */
  async #readAll<T>(lookup: Lookup<T>, partNos: ReadonlySet<number>): Promise<Map<number, ItemRecords<T>>> {
    const { group, list, definition, options, maxAgeMs, startedAt } = lookup;
    const { epoch } = this.#requester.writes;
    this.#assertInTime(lookup);
    const read = (requester: Requester) => readByPartNo(requester, list, definition);
    const { signal: _signal, onResponse: _onResponse, priority = "low", ...settings } = options;
    const { lifetime, note } = group;
    const caller = { lifetime, note, startedAt, maxAgeMs, options: { ...settings, priority } };
    const key = JSON.stringify([list.label, SharedRequests.keyOf(options)]);
    const whole = await (group.isShared ? this.#wholeReadings.read(key, caller, read) : read(group));
    const byPartNo = whole.byPartNo as ReadonlyMap<number, T[]>;
    const path = list.label.replace("GET ", "");
    if (list.isUnique && group.isShared) {
      const records = new Map([...byPartNo].map(([partNo, [record]]) => [partNo, record]));
      this.#results.keepList(path, records, { sentAt: whole.startedAt, epoch });
    }
    return new Map([...partNos].map((partNo) => [partNo, { partNo, records: byPartNo.get(partNo) ?? [] }]));
  }

  /** Throws if the whole list cannot be read in time. */
  #assertInTime<T>({ list, group }: Lookup<T>): void {
    const { remainingMs, totalTimeoutMs } = group.lifetime;
    const requests = requestsForList(list.memory.total);
    if (durationOf(requests, slotAllowanceOf(this.#requester.limiter)) <= remainingMs) return;
    const retryAfterMs = Math.ceil(this.#requester.limiter.waitMs("low", requests - 1));
    throw new TimeoutError(
      `${list.label}: no further request was sent. Only the whole list shows that an item is not listed. Reading the list ` +
        `takes about ${requests} requests, more than totalTimeoutMs (${totalTimeoutMs} ms) allows. Set ifUnsorted: "error", ` +
        "accept older results with maxAgeMs, or query a copy (stocklot/mirror).",
      { clock: "totalTimeoutMs", retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : undefined },
    );
  }
}

const keptRecords = <T>(record: unknown): T[] => (record === null ? [] : [structuredClone(record) as T]);

/** Returns the result with the SKUs in the order in which the caller has given them. */
function inOrder<T>(
  shortIDs: readonly string[],
  { path, found, missing }: FoundItems<T>,
  onMissing: StockLevelsScope["onMissing"],
): FoundItems<T> {
  const ordered = new Map<string, ItemRecords<T>>();
  for (const shortID of shortIDs) {
    const records = found.get(shortID);
    if (records) ordered.set(shortID, records);
  }
  return { path, found: ordered, missing: onMissing === "omit" ? new Map() : missing };
}

/** Returns one error for all SKUs that do not exist; `undefined` if all exist. */
export function missingItemsError(missing: ReadonlyMap<string, NotFoundError>): NotFoundError | undefined {
  const [first] = missing.values();
  if (!first || missing.size === 1) return first;
  const names = [...missing.keys()];
  const { status, code, method, path, headers, attempts } = first;
  const message = `Items ${names.join(", ")} were not found.`;
  return new NotFoundError({
    status,
    code,
    message,
    method,
    path,
    headers,
    attempts,
    details: { shortIDs: names },
    isFromService: true,
  });
}
