import type { ListState } from "../copy/state.js";

/** A full pass that takes less time may run again immediately. */
const MAX_SHORT_FULL_PASS_MS = 60_000;

/** The largest share of the time that additional full passes may take. */
const MAX_REPAIR_TIME_SHARE = 0.1;

/** What the caller requests. */
export interface ScheduleOptions {
  /** Everything is to be read. */
  full: boolean;
  fullPassEveryMs: number;
  overlapMs: number;
}

/**
 * The state of a resource at the beginning of a run:
 * - `new`: no scan of the whole list has begun
 * - `interrupted`: the first scan was interrupted and resumes
 * - `complete`: the whole list was read once
 */
export type CopyProgress = "new" | "interrupted" | "complete";

export function copyProgressOf({ lastFullPassAt, checkpoint }: ListState): CopyProgress {
  if (lastFullPassAt !== undefined) return "complete";
  return checkpoint === undefined ? "new" : "interrupted";
}

/** The watermark for an increment. `undefined` if there are none: the list must honour `modifiedSince`, and responses have a `Date` header. */
export const watermarkOf = ({ modifiedSince, watermark }: ListState, { full }: ScheduleOptions) =>
  full || modifiedSince !== "honoured" ? undefined : watermark;

/** True if everything is to be read: it is time, a full pass was interrupted, or there are no increments. */
export const isFullPassDue = (state: ListState, options: ScheduleOptions, now: number) =>
  state.checkpoint !== undefined ||
  watermarkOf(state, options) === undefined ||
  now - (state.lastFullPassAt ?? 0) >= options.fullPassEveryMs;

/** True if an additional full pass may run now. A long one does not run again and again for a few records. */
export function mayRepairByFullPass({ lastFullPassAt = 0, lastFullPassMs = 0 }: ListState, now: number): boolean {
  return lastFullPassMs < MAX_SHORT_FULL_PASS_MS || now - lastFullPassAt >= lastFullPassMs / MAX_REPAIR_TIME_SHARE;
}
