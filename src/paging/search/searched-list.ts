import { PaginationError } from "../../errors/index.js";
import type { Page, PageRequest } from "../page.js";
import type { RecordKey } from "../seen-keys.js";
import type { ListKnowledge } from "./list-knowledge.js";
import { UnsearchableListError } from "./order-proof.js";
import { type Direction, type Probe, type SortedPage, toSortedPage } from "./sorted-page.js";

/** A list that can be requested in the order of `partNo`. */
export interface SearchedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** Throws if the record has none. */
  partNoOf(record: T): number;
  keyOf(record: T): RecordKey | undefined;
  known: ListKnowledge;
  fetch(request: PageRequest, direction: Direction): Promise<Page<T>>;
  /**
   * Reads on from a page, ascending and gapless: the new records of each page.
   *
   * `onPage` receives each page as served, while its response is read. If it throws, that request fails, so the iteration ends
   * there and rejects with what was thrown: it passes the core as a `CallFailure`, whose reason the caller receives unchanged.
   */
  readOn(from: PageRequest, onPage: (page: Page<T>) => void): AsyncIterable<Page<T>>;
}

/** Reads a page, and notes what it shows of the list. */
export async function readProbe<T>(list: SearchedList<T>, { request, direction }: Probe): Promise<SortedPage<T>> {
  const page = await list.fetch(request, direction);
  if (page.page !== request.page) {
    throw new PaginationError(
      `${list.label}: the response to a request for page ${request.page} is page ${page.page}.`,
    );
  }
  list.known.noteAppliedSize(request, page.pageSize);
  const sorted = inOrder(list, page, direction);
  list.known.notePage(sorted, direction);
  return sorted;
}

/** The page in ascending order. One that is not in the order asked for refutes the order of the list. */
export function inOrder<T>(list: SearchedList<T>, page: Page<T>, direction: Direction): SortedPage<T> {
  const sorted = toSortedPage(page, direction, list.partNoOf);
  if (sorted) return sorted;
  const reason = `${list.label}: page ${page.page} is not in the order of partNo`;
  list.known.order.refute(reason);
  throw new UnsearchableListError(reason);
}
