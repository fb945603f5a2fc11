import type { ResourceState } from "./state.js";

/** A full pass that takes less may be repeated at once. */
const SHORT_MS = 60_000;

/** The part of the time, at most, that passes take which are made only because the copy has drifted. */
const REPAIR_SHARE = 0.1;

/** What the caller asks for. */
export interface Plan {
  /** Everything is to be read, whatever else speaks for an increment. */
  full: boolean;
  fullPassEveryMs: number;
  overlapMs: number;
}

/** How a resource is read next. An increment needs a list that honours `modifiedSince`, and the service's time. */
export function nextReading(
  { lastFullPassAt, modifiedSince, mark }: ResourceState,
  { full, fullPassEveryMs }: Plan,
  now: number,
): { reading: "first" } | { reading: "full" } | { reading: "increment"; mark: number } {
  if (lastFullPassAt === undefined) return { reading: "first" };
  if (full || modifiedSince !== "honoured" || mark === undefined || now - lastFullPassAt >= fullPassEveryMs) {
    return { reading: "full" };
  }
  return { reading: "increment", mark };
}

/** The moment from which an increment is read. */
export const reachingBack = (mark: number, { overlapMs }: Plan) => new Date(mark - overlapMs);

/** True if a full pass may be made out of turn. One that takes long is not made time and again for a few records. */
export function mayRepair({ lastFullPassAt = 0, lastFullPassMs = 0 }: ResourceState, now: number): boolean {
  return lastFullPassMs < SHORT_MS || now - lastFullPassAt >= lastFullPassMs / REPAIR_SHARE;
}
