import type { PageSession, ReceivedPage } from "../page.js";
import { StallGuard } from "../stall-guard.js";

/** Consecutive pages without a new record that growth of the list may explain. */
const MAX_STALLS_EXPLAINED_BY_GROWTH = 3;

/** The last page without a new record, if none with one has followed. */
interface StalledPage {
  /** How many responses had been received when it was noticed. */
  noticedAfter: number;
  totalCount: number;
  /** How many consecutive pages without a new record were explained by growth of the list. */
  growths: number;
}

/**
 * What it would mean if a page contained nothing new. It would be the `first` one; or `explained` after another, and no reason
 * to stop, if it was requested before that was noticed, or if the list has grown since; otherwise `unexplained`.
 */
export type StallMeaning = "first" | "explained" | "unexplained";

/** Pages of a gapless iteration that contain nothing new. */
export class GaplessStalls {
  readonly #guard: StallGuard;
  #last: StalledPage | undefined;

  constructor(session: Pick<PageSession<never>, "label" | "keyOf">) {
    this.#guard = new StallGuard(session);
  }

  meaningOf({ page, requestedAfter }: ReceivedPage<unknown>): StallMeaning {
    if (!this.#last) return "first";
    const { noticedAfter, totalCount, growths } = this.#last;
    const hasGrown = page.totalCount > totalCount && growths < MAX_STALLS_EXPLAINED_BY_GROWTH;
    return requestedAfter < noticedAfter || hasGrown ? "explained" : "unexplained";
  }

  /** `responses`: how many have been received. Throws after too many pages that are not explained. */
  note(
    { page, requestedAfter }: ReceivedPage<unknown>,
    meaning: StallMeaning,
    newRecords: number,
    responses: number,
  ): void {
    const isExplained = meaning === "explained";
    const last = this.#last;
    if (newRecords > 0) this.#last = undefined;
    else if (last === undefined || requestedAfter >= last.noticedAfter) {
      const growths = (last?.growths ?? 0) + (isExplained ? 1 : 0);
      this.#last = { noticedAfter: responses, totalCount: page.totalCount, growths };
    }
    this.#guard.note(page, newRecords, isExplained);
  }
}
