import type { InventoryListParams } from "../../service/list-params.js";
import { PaginationError } from "../../shared/errors/index.js";
import { groupBy } from "../../shared/group-by.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { type ListDefinition, openReader } from "../lists/list.js";
import type { Requester } from "../send/requester.js";
import type { SortedList } from "./sorted-list.js";

/** The records of a whole list, by part number. */
export interface ListByPartNo {
  byPartNo: ReadonlyMap<number, unknown[]>;
  /** When the reading began, by the monotonic clock in ms. */
  startedAt: number;
}

/**
 * Reads a whole list. If the list shows fewer records than the service counts, it is read again, and both readings must
 * show the same records: a client with a scope may always see fewer records.
 */
export async function readByPartNo<T>(
  requester: Requester,
  { keyOf, numberOf, label }: SortedList<T>,
  definition: ListDefinition<T, InventoryListParams>,
): Promise<ListByPartNo> {
  // Does not sort by part number, because a search may have refuted that order.
  const { stableSort, ...reading } = definition.reading(definition.params);
  const sort = stableSort === "partNo" ? undefined : stableSort;
  const everything = { ...definition, params: { ...definition.params, sort }, reading: () => reading };
  let before: Set<unknown> | undefined;
  const startedAt = monotonicNowMs();
  for (;;) {
    const records: T[] = [];
    const reader = openReader(requester, everything);
    for await (const { value } of reader.pages()) records.push(...value);
    const keys = new Set<unknown>(records.map(keyOf));
    if (reader.isComplete || (before && isSameSet(before, keys)))
      return { byPartNo: groupBy(records, numberOf), startedAt };
    if (before)
      throw new PaginationError(`${label}: two readings of a list that is short differ. Read it again later.`);
    before = keys;
  }
}

const isSameSet = (one: ReadonlySet<unknown>, other: ReadonlySet<unknown>) =>
  one.size === other.size && [...one].every((key) => other.has(key));
