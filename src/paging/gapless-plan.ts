import { overlappingRequest } from "./overlap.js";
import type { Page, PageRequest } from "./page.js";
import type { PagePlan } from "./page-plan.js";
import { offsetOf, sizeThatOverlaps } from "./position.js";

/** Shifts of so many pages are remembered. */
const REMEMBERED_SHIFTS = 16;

/** Pages of changing size, each of which overlaps the one before it. */
export class GaplessPlan implements PagePlan {
  #cap: number;
  #shifts: number[] = [];

  constructor({ pageSize, maxPageSize }: { pageSize: number; maxPageSize: number }) {
    this.#cap = sizeThatOverlaps(pageSize, maxPageSize);
  }

  /** Largest page size that makes sense to ask for. */
  get cap(): number {
    return this.#cap;
  }

  /** By how many positions the list moved left from one page to the next, lately. */
  get shifts(): readonly number[] {
    return this.#shifts;
  }

  /** The page that goes on from the position `end`, which was told so many answers ago, this page's own one included. */
  from(end: number, elapsed = 1): PageRequest {
    return overlappingRequest({ end, cap: this.#cap, shifts: this.#shifts.map((shift) => shift * elapsed) });
  }

  after(request: PageRequest, page: Page<unknown> | undefined): PageRequest {
    return this.from(page === undefined ? this.reach(request) : offsetOf(page) + page.value.length);
  }

  offset({ page, pageSize }: PageRequest): number {
    return (page - 1) * Math.min(pageSize, this.#cap);
  }

  /** Position where the page of a request ends, as far as is known. */
  reach({ page, pageSize }: PageRequest): number {
    return page * Math.min(pageSize, this.#cap);
  }

  learn(request: PageRequest, { pageSize }: Page<unknown>): void {
    if (pageSize < request.pageSize) this.#cap = Math.max(1, Math.min(this.#cap, pageSize));
  }

  /** Remembers by how many positions the list has moved left from one answer to the next; less than 0 if it moved right. */
  noteShift(positions: number): void {
    this.#shifts.push(positions);
    if (this.#shifts.length > REMEMBERED_SHIFTS) this.#shifts.shift();
  }
}
