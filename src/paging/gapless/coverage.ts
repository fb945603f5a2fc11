import type { Emitter } from "../emitter.js";
import { offsetOf, type Page } from "../page.js";

/**
 * How a page joins what was read before.
 *
 * - `joined`: nothing between was missed. A page is one contiguous run of the list, so a record seen before shows that the
 *   page begins at or before the end of what was read; and nothing comes before position 0.
 * - `covered`: joined, but all of it lies within what was read before.
 * - `apart`: records may be missing before it.
 */
export type Continuity = "joined" | "covered" | "apart";

export interface Overlap {
  continuity: Continuity;
  /** Index of the first record seen before, -1 if there is none. */
  first: number;
  /** Index of the last record seen before, -1 if there is none. */
  last: number;
}

export function overlapOf<T>(page: Page<T>, emitter: Emitter<T>): Overlap {
  const { value } = page;
  const first = value.findIndex((record) => emitter.isSeen(record));
  const last = first < 0 ? -1 : value.findLastIndex((record) => emitter.isSeen(record));
  if (value.length === 0 || (first < 0 && offsetOf(page) !== 0)) return { continuity: "apart", first, last };
  return { continuity: last === value.length - 1 ? "covered" : "joined", first, last };
}
