import type { Page, PageRequest } from "../page.js";
import type { RecordKey } from "../seen-keys.js";
import type { ListKnowledge } from "./list-knowledge.js";
import { type Direction, type SortedPage, toSortedPage } from "./sorted-page.js";

/** A list that can be requested in the order of `partNo`. */
export interface SearchedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** Throws if the record has none. */
  partNoOf(record: T): number;
  keyOf(record: T): RecordKey | undefined;
  known: ListKnowledge;
  fetch(request: PageRequest, direction: Direction): Promise<Page<T>>;
  /** Reads on from a page, ascending and gapless: the new records of each page. `onPage` receives each page as served. */
  readOn(from: PageRequest, onPage: (page: Page<T>) => void): AsyncIterable<Page<T>>;
}

/** The page in ascending order. One that is not in the order asked for refutes the order of the list. */
export function sortedPage<T>(list: SearchedList<T>, page: Page<T>, direction: Direction): SortedPage<T> {
  const sorted = toSortedPage(page, direction, list.partNoOf);
  return sorted ?? list.known.order.refute(`${list.label}: page ${page.page} is not in the order of partNo`);
}
