import { parseServiceDate } from "../../schemas/date.js";
import type { ListState } from "../copy/state.js";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The latest `modified` of records, in ms of the service's clock; `undefined` if none has a date there. Only items do. */
export function newestModified(records: readonly object[]): number | undefined {
  let newest: number | undefined;
  for (const record of records) {
    const modified = parseDateOrUndefined("modified" in record ? record.modified : undefined);
    if (modified !== undefined) newest = Math.max(newest ?? modified, modified);
  }
  return newest;
}

function parseDateOrUndefined(value: unknown): number | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return parseServiceDate(value).getTime();
  } catch {
    return undefined; // A response that was not validated.
  }
}

/** The later of two dates, either of which may be unknown. */
export const laterTimeOf = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);

interface IncrementSettings {
  overlapMs: number;
  /** How far `modified` is behind the service's `Date` header, see {@link lagAfterIncrement}. */
  modifiedLagMs: number;
}

/**
 * The `modifiedSince` of an increment: a little before the last scan began, by the `Date` header. A service may write its
 * `modified` dates by a clock that is behind. So the increment begins right after the newest `modified` that the list has
 * shown if that is earlier, by a day at most.
 */
export function incrementStart(
  watermark: number,
  { newestModified: newest }: ListState,
  { overlapMs, modifiedLagMs }: IncrementSettings,
): Date {
  const start = watermark - overlapMs - modifiedLagMs;
  if (newest === undefined) return new Date(start);
  return new Date(Math.min(start, Math.max(newest + 1, watermark - DAY_MS)));
}

/**
 * How far `modified` is behind the `Date` header, after an increment that showed a newer `modified` than all before:
 * the change took place since the watermark, and may be as new as the increment. 0 if it has a date of that time.
 */
export function lagAfterIncrement(newest: number, watermark: number, startedAt: number, overlapMs: number): number {
  return newest >= watermark - overlapMs ? 0 : Math.min(startedAt - newest, DAY_MS);
}
