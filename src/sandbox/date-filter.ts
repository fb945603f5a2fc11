import { isoTime, parseTime } from "./clock.js";

/** Completes the beginning of a datetime to a whole one. */
const DATETIME_TEMPLATE = "0000-01-01T00:00:00.000Z";

/** Whether the text is a date, a datetime, or the beginning of one: `2025`, `2025-01-02`, `2025-01-02T10:30`. */
export function isDateFilter(text: string): boolean {
  const begun = normalizeIso(text);
  return parseTime(begun) !== undefined || parseTime(begun + DATETIME_TEMPLATE.slice(begun.length)) !== undefined;
}

/** Whether a datetime begins like the filter, as it is written or in UTC, or is the same instant in another spelling. */
export function matchesDateFilter(datetime: string, filter: string): boolean {
  const begun = normalizeIso(filter);
  if (normalizeIso(datetime).startsWith(begun)) return true;
  const instant = parseTime(datetime);
  return instant !== undefined && (isoTime(instant).startsWith(begun) || instant === parseTime(begun));
}

/** ISO 8601 in one spelling: capitals, and no space between date and time. */
function normalizeIso(text: string): string {
  return text.trim().toUpperCase().replace(" ", "T");
}
