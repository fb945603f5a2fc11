import { PaginationError } from "../../shared/errors/index.js";
import { type Page, startOfPage } from "./page.js";

/** Consecutive pages without a new record after which `hasMore` is treated as wrong. */
export const MAX_STALLED_PAGES = 3;

const CONTRADICTION_ADVICE =
  "Read the list again later; if the error persists, report it to the provider of the service.";

/** Ends an iteration whose pages contain nothing new, although the service reports more records. */
export class StallGuard {
  readonly #label: string;
  readonly #hasKeys: boolean;
  #stalledPages = 0;
  /** Position at which the furthest page so far begins. */
  #furthestOffset = -1;

  /** `keyOf`: without it, records are new if their page begins after all others and before the end of the list. */
  constructor({ label, keyOf }: { readonly label: string; readonly keyOf: unknown }) {
    this.#label = label;
    this.#hasKeys = keyOf !== undefined;
  }

  /** `isExplained`: that the page contains nothing new is no reason to stop. */
  note(page: Page<unknown>, newRecords: number, isExplained = false): void {
    const offset = startOfPage(page);
    const advances = this.#hasKeys || isExplained || (offset > this.#furthestOffset && offset < page.totalCount);
    if (newRecords > 0 && advances) this.#stalledPages = 0;
    else if (!isExplained) this.#stalledPages += 1;
    this.#furthestOffset = Math.max(this.#furthestOffset, offset);
    if (page.hasMore && this.#stalledPages >= MAX_STALLED_PAGES) throw stalledError(this.#label, page);
  }
}

/** `page`: the last of `MAX_STALLED_PAGES` pages without a new record. */
export function stalledError(label: string, { page }: Page<unknown>): PaginationError {
  return new PaginationError(
    `${label}: the last ${MAX_STALLED_PAGES} pages, up to page ${page}, contained no new record, but the service reports more records. ${CONTRADICTION_ADVICE}`,
  );
}

/** No page can follow an empty one: the service contradicts itself. `label` is that of the list. */
export function refuseEmptyPageWithMore(page: Page<unknown>, label: string): void {
  if (page.value.length === 0 && page.hasMore) {
    throw new PaginationError(
      `${label}: page ${page.page} is empty, but the service reports more records. ${CONTRADICTION_ADVICE}`,
    );
  }
}
