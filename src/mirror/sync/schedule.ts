import type { ResourceState } from "../state.js";

/** A full pass that takes less may be repeated at once. */
const SHORT_MS = 60_000;

/** The part of the time, at most, that passes take which are made only because the copy has drifted. */
const REPAIR_SHARE = 0.1;

/** What the caller asks for. */
export interface ScheduleOptions {
  /** Everything is to be read, whatever else speaks for an increment. */
  full: boolean;
  fullPassEveryMs: number;
  overlapMs: number;
}

/** True as long as the copy has not had all there is once. */
export const isNew = ({ lastFullPassAt }: ResourceState) => lastFullPassAt === undefined;

/** Where an increment begins; `undefined` where there is none: it needs a list that honours `modifiedSince`, and the service's time. */
export const watermarkOf = ({ modifiedSince, mark }: ResourceState, { full }: ScheduleOptions) =>
  full || modifiedSince !== "honoured" ? undefined : mark;

/** True if everything is to be read: it is time, or there are no increments. */
export const isFullPassDue = (state: ResourceState, plan: ScheduleOptions, now: number) =>
  watermarkOf(state, plan) === undefined || now - (state.lastFullPassAt ?? 0) >= plan.fullPassEveryMs;

/** The moment from which an increment is read. */
export const reachingBack = (mark: number, { overlapMs }: ScheduleOptions) => new Date(mark - overlapMs);

/** True if a full pass may be made out of turn. One that takes long is not made time and again for a few records. */
export function mayRepair({ lastFullPassAt = 0, lastFullPassMs = 0 }: ResourceState, now: number): boolean {
  return lastFullPassMs < SHORT_MS || now - lastFullPassAt >= lastFullPassMs / REPAIR_SHARE;
}
