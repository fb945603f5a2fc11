import { bestOverlappingPage } from "../choose-page.js";
import {
  endOfPage,
  gaplessPageSize,
  type Page,
  type PageRequest,
  type PageSession,
  pageSizeWithinCap,
} from "../page.js";
import type { PagePlan } from "../page-stream.js";

/** Shifts of this many pages are remembered. */
const MAX_REMEMBERED_SHIFTS = 16;

/** Pages of changing size, each of which overlaps the one before it. */
export class GaplessPlan implements PagePlan {
  readonly #concurrency: number;
  #maxPageSize: number;
  #maxInFlight = 1;
  #shifts: number[] = [];

  constructor({
    pageSize,
    maxPageSize,
    concurrency,
    from,
  }: Pick<PageSession<never>, "pageSize" | "maxPageSize" | "concurrency" | "from">) {
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
    this.#maxPageSize = pageSizeWithinCap(this.#maxPageSize, request, pageSize);
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

  /**
   * The page that continues at the position `end`. `elapsed`: responses since that position was known, this page's included;
   * more than one if pages that were requested earlier have shown nothing of it.
   */
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
