import { offsetOf, type Page, type PageRequest, sizeThatOverlaps } from "../page.js";
import type { PagePlan } from "../prefetch.js";

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
    return this.from(page === undefined ? this.endOf(request) : offsetOf(page) + page.value.length);
  }

  offset({ page, pageSize }: PageRequest): number {
    return (page - 1) * Math.min(pageSize, this.#cap);
  }

  /** Position where the page of a request ends, as far as is known. */
  endOf({ page, pageSize }: PageRequest): number {
    return page * Math.min(pageSize, this.#cap);
  }

  noteAppliedSize(request: PageRequest, { pageSize }: Page<unknown>): void {
    if (pageSize < request.pageSize) this.#cap = Math.max(1, Math.min(this.#cap, pageSize));
  }

  /** Remembers by how many positions the list has moved left from one answer to the next; less than 0 if it moved right. */
  noteShift(positions: number): void {
    this.#shifts.push(positions);
    if (this.#shifts.length > REMEMBERED_SHIFTS) this.#shifts.shift();
  }
}

/** Where a list has been read to, and what is known about how it moves. */
export interface OverlapInput {
  /** Position up to which the list has been read. */
  end: number;
  /** Largest page size to ask for. */
  cap: number;
  /** By how many positions the list moved left from one page to the next, lately. */
  shifts: readonly number[];
}

/**
 * The page that overlaps what has been read and is expected to bring most.
 *
 * A page can only begin at `(page - 1) * pageSize`, so each size offers one page that begins just before `end`. It brings
 * what it reaches beyond `end`, unless the list moves by its whole overlap: then another page has to be read in between.
 * Without shifts this is the page that reaches furthest, which on a calm list needs the fewest requests possible.
 */
export function overlappingRequest({ end, cap, shifts }: OverlapInput): PageRequest {
  // If every size up to the cap divides `end`, no page can overlap; the page that merely follows leaves it to the bridge.
  let best = { page: Math.floor(end / cap) + 1, pageSize: cap };
  let bestWorth = -Infinity;
  for (let pageSize = 1; pageSize <= cap; pageSize += 1) {
    const before = Math.max(0, Math.floor((end - 1) / pageSize));
    const gain = (before + 1) * pageSize - end;
    if (gain <= 0) continue;
    const worth = gain - cap * risk(end - before * pageSize, shifts);
    // On a par, the larger page overlaps more.
    if (worth < bestWorth) continue;
    best = { page: before + 1, pageSize };
    bestWorth = worth;
  }
  return best;
}

/** The page that reaches `position` and begins furthest to the left of it. */
export function requestReaching(position: number, cap: number): PageRequest {
  let best = { page: Math.max(1, Math.ceil(position / cap)), pageSize: cap };
  for (let pageSize = cap; pageSize >= 1; pageSize -= 1) {
    const page = Math.max(1, Math.ceil(position / pageSize));
    if ((page - 1) * pageSize < (best.page - 1) * best.pageSize) best = { page, pageSize };
  }
  return best;
}

/** How often, of late, an overlap of this many records would have been too small. */
function risk(overlap: number, shifts: readonly number[]): number {
  let failures = 0;
  for (const shift of shifts) if (shift >= overlap) failures += 1;
  return shifts.length === 0 ? 0 : failures / shifts.length;
}
