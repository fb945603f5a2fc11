import type { Page, PageRequest } from "../page.js";
import type { RecordKey } from "../seen-keys.js";
import type { RememberedPlaces } from "./remembered-places.js";
import type { Direction } from "./sorted-page.js";

/** A list that can be requested in the order of a number that its records have. */
export interface SearchedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** Throws if the record has no such number. */
  numberOf(record: T): number;
  keyOf(record: T): RecordKey | undefined;
  places: RememberedPlaces;
  fetch(request: PageRequest, direction: Direction): Promise<Page<T>>;
  /** Reads on from a page, ascending and gapless: the new records of each page. `onPage` receives each page as served. */
  readOn(from: PageRequest, onPage: (page: Page<T>) => void): AsyncIterable<Page<T>>;
}

/** The list is not in the order asked for: only reading the whole list finds a record. */
export class UnsortedListError extends Error {}
