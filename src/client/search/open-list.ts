import { setNewest } from "../../shared/bounded-map.js";
import { ResponseValidationError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { ListReading } from "../lists/list.js";
import type { Requester } from "../send/requester.js";
import { createListMemory, type ListMemory, type SortedList } from "./sorted-list.js";

const MAX_LISTS = 100;

/** A list, and the column by which it is sorted. */
/** The sorted lists of a client. Keeps for each list the facts that earlier searches have found (`ListMemory`). */
export class SortedLists {
  readonly #memories = new Map<string, ListMemory>();

  /** Opens a list for one call. `group` sends the requests. */
  open<T>(
    group: Requester,
    { reading, path, column }: Pick<SortedList<T>, "column"> & { reading: ListReading<T>; path: string },
  ): SortedList<T> {
    const { pageReader, keyOf, maxPageSize } = reading;
    const name = `${path} ${column}`;
    const memory = this.#memories.get(name) ?? createListMemory(maxPageSize);
    setNewest(this.#memories, name, memory, MAX_LISTS);
    const shown: (readonly T[])[] = [];
    return {
      label: `GET ${path}`,
      column,
      memory,
      pages: [],
      shown,
      unsorted: [],
      // A part number may have several lots.
      isUnique: column === "recNo" || reading.stableSort === "partNo",
      keyOf: (record) => keyOf?.(record),
      numberOf: (record) => numberIn(record, column, path),
      fetch: async (request, direction, isFurther = false) => {
        const query = direction ? { ...request, sort: column, direction } : { ...request, direction: "ASC" };
        const priority = isFurther ? "low" : undefined;
        const page = await group.send({ method: "GET", path, query, read: pageReader(request), priority });
        shown.push(page.value);
        return page;
      },
    };
  }
}

/** Returns the number of a record. A record without a number could belong to any item, so it is an error in every validation mode. */
function numberIn(record: unknown, column: string, path: string): number {
  const number = fieldOf(record, column);
  if (Number.isSafeInteger(number) || (typeof number === "string" && /^\d{1,15}$/.test(number))) return Number(number);
  const issues = [{ path: ["value", column], message: "expected an integer" }];
  const message = `GET ${path}: a record has no integer ${column}, so one item cannot be found.`;
  throw new ResponseValidationError(message, { status: 200, issues });
}
