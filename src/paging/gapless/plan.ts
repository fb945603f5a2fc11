import { endOfPage, gaplessPageSize, type Page, type PageRequest, type PagingSettings } from "../page.js";
import type { PagePlan } from "../page-stream.js";

/** Shifts of this many pages are remembered. */
const MAX_REMEMBERED_SHIFTS = 16;

/** Pages of changing size, each of which overlaps the one before it. */
export class GaplessPlan implements PagePlan {
  readonly #concurrency: number;
  #maxPageSize: number;
  #maxInFlight = 1;
  #shifts: number[] = [];

  constructor({ pageSize, maxPageSize, concurrency, from }: PagingSettings<never>) {
    this.#concurrency = concurrency;
    this.#maxPageSize = gaplessPageSize(from?.pageSize ?? pageSize, maxPageSize);
  }

  /**
   * Pages that are cut at the same time, in any order, tolerate less change than pages cut one after the other. So this
   * begins with 1, grows by 1 with each page that overlaps, and is halved by one that does not.
   */
  get maxInFlight(): number {
    return this.#maxInFlight;
  }

  noteOverlap(): void {
    this.#maxInFlight = Math.min(this.#maxInFlight + 1, this.#concurrency);
  }

  noteGap(): void {
    this.#maxInFlight = Math.ceil(this.#maxInFlight / 2);
  }

  /** Largest page size to request. */
  get maxPageSize(): number {
    return this.#maxPageSize;
  }

  noteAppliedSize(request: PageRequest, { pageSize }: Page<unknown>): void {
    if (pageSize < request.pageSize) this.#maxPageSize = Math.max(1, Math.min(this.#maxPageSize, pageSize));
  }

  /** By how many positions the list moved left between two responses, for the last pages. */
  get shifts(): readonly number[] {
    return this.#shifts;
  }

  /** Remembers by how many positions the list moved left between two responses. Less than 0 if it moved right. */
  noteShift(positions: number): void {
    this.#shifts.push(positions);
    if (this.#shifts.length > MAX_REMEMBERED_SHIFTS) this.#shifts.shift();
  }

  /** The page that continues at the position `end`. `elapsed`: responses since that position was known, this page's included. */
  requestAfter(end: number, elapsed = 1): PageRequest {
    return bestOverlappingPage({
      end,
      maxPageSize: this.#maxPageSize,
      shifts: this.#shifts.map((shift) => shift * elapsed),
    });
  }

  after(request: PageRequest, page: Page<unknown> | undefined): PageRequest {
    return this.requestAfter(page === undefined ? this.expectedEndOf(request) : endOfPage(page));
  }

  expectedStartOf({ page, pageSize }: PageRequest): number {
    return (page - 1) * Math.min(pageSize, this.#maxPageSize);
  }

  expectedEndOf({ page, pageSize }: PageRequest): number {
    return page * Math.min(pageSize, this.#maxPageSize);
  }
}

/** How far a list has been read, and how it has moved. */
export interface OverlappingPageInput {
  /** Position up to which the list has been read. */
  end: number;
  /** Largest page size to request. */
  maxPageSize: number;
  /** By how many positions the list moved left between two responses, for the last pages. */
  shifts: readonly number[];
}

/**
 * The page that overlaps what has been read and is expected to contain the most new records.
 *
 * A page can only begin at `(page - 1) * pageSize`, so for each size one page begins just before `end`. Its gain is what it
 * contains after `end`. If the list moves by the whole overlap, the gain is lost, since another page has to be read first.
 * Without shifts, the best page is the one that ends furthest right: on a calm list it needs the fewest requests.
 */
export function bestOverlappingPage({ end, maxPageSize, shifts }: OverlappingPageInput): PageRequest {
  // If every size up to the largest divides `end`, no page can overlap: the next page follows without overlap, and gap search joins it.
  let best = { page: Math.floor(end / maxPageSize) + 1, pageSize: maxPageSize };
  let bestValue = -Infinity;
  for (let pageSize = 1; pageSize <= maxPageSize; pageSize += 1) {
    const pagesBefore = Math.max(0, Math.floor((end - 1) / pageSize));
    const gain = (pagesBefore + 1) * pageSize - end;
    if (gain <= 0) continue;
    const value = gain - maxPageSize * gapProbability(end - pagesBefore * pageSize, shifts);
    // Of equal values, the larger page overlaps more.
    if (value < bestValue) continue;
    best = { page: pagesBefore + 1, pageSize };
    bestValue = value;
  }
  return best;
}

/** The page that contains the position before `position` and begins furthest to the left. */
export function leftmostPageReaching(position: number, maxPageSize: number): PageRequest {
  let best = { page: Math.max(1, Math.ceil(position / maxPageSize)), pageSize: maxPageSize };
  for (let pageSize = maxPageSize; pageSize >= 1; pageSize -= 1) {
    const page = Math.max(1, Math.ceil(position / pageSize));
    if ((page - 1) * pageSize < (best.page - 1) * best.pageSize) best = { page, pageSize };
  }
  return best;
}

/** Share of the last shifts for which an overlap of this many records would have been too small. */
function gapProbability(overlap: number, shifts: readonly number[]): number {
  let failures = 0;
  for (const shift of shifts) if (shift >= overlap) failures += 1;
  return shifts.length === 0 ? 0 : failures / shifts.length;
}
