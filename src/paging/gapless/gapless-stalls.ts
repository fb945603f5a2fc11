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
 * Pages of a gapless iteration that contain nothing new. After a first one the next is explained, and no reason to stop, if
 * it was requested before the first was noticed, or if the list has grown since.
 */
export class GaplessStalls {
  readonly #guard: StallGuard;
  #last: StalledPage | undefined;

  constructor(session: Pick<PageSession<never>, "label" | "keyOf">) {
    this.#guard = new StallGuard(session);
  }

  /**
   * Whether `totalCount` shows how far the end of what was read has moved. After a page without a new record, it is no longer
   * believed to, unless something explains that this page contains none either.
   */
  isGrowthCredible(received: ReceivedPage<unknown>): boolean {
    return this.#last === undefined || isExplained(received, this.#last);
  }

  /** `responses`: how many have been received. Throws after too many unexplained pages. */
  note(received: ReceivedPage<unknown>, newRecords: number, responses: number): void {
    const { page, requestedAfter } = received;
    const last = this.#last;
    const explained = last !== undefined && isExplained(received, last);
    if (newRecords > 0) this.#last = undefined;
    else if (last === undefined || requestedAfter >= last.noticedAfter) {
      const growths = (last?.growths ?? 0) + (explained ? 1 : 0);
      this.#last = { noticedAfter: responses, totalCount: page.totalCount, growths };
    }
    this.#guard.note(page, newRecords, explained);
  }
}

const isExplained = (
  { page, requestedAfter }: ReceivedPage<unknown>,
  { noticedAfter, totalCount, growths }: StalledPage,
): boolean =>
  requestedAfter < noticedAfter || (page.totalCount > totalCount && growths < MAX_STALLS_EXPLAINED_BY_GROWTH);
