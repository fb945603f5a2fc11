import { PaginationError } from "../../shared/errors/index.js";
import type { Page } from "../lists/page.js";
import type { RecordKey } from "../lists/seen-keys.js";
import type { ListKnowledge } from "./list-knowledge.js";
import { UnsearchableListError } from "./order-proof.js";
import { type Probe, type SortedPage, toSortedPage } from "./sorted-page.js";

/** A list that can be requested in the order of `partNo`. */
export interface SearchedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** Throws if the record has none. */
  partNoOf(record: T): number;
  keyOf(record: T): RecordKey | undefined;
  known: ListKnowledge;
  fetch(probe: Probe): Promise<Page<T>>;
}

/** Reads a page, and notes what it shows of the list. */
export async function readProbe<T>(list: SearchedList<T>, probe: Probe): Promise<SortedPage<T>> {
  const { label, known } = list;
  const { request, direction } = probe;
  const page = await list.fetch(probe);
  if (page.page !== request.page) {
    throw new PaginationError(`${label}: the response to a request for page ${request.page} is page ${page.page}.`);
  }
  known.noteAppliedSize(request, page.pageSize);
  const sorted = toSortedPage(page, direction, list.partNoOf);
  if (!sorted) {
    const reason = `${label}: page ${page.page} is not in the order of partNo`;
    known.order.refute(reason);
    throw new UnsearchableListError(reason);
  }
  known.notePage(sorted, direction);
  return sorted;
}
