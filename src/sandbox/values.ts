import { Big } from "big.js";
import * as z from "zod";

const MILLION = 1_000_000;
const MAX_MILLIONTHS = Number.MAX_SAFE_INTEGER / 2;

/** The exact sum of two decimals. Most quantities have few places: whole millionths are faster than a `Big`. */
export function addDecimals(a: number, b: number): number {
  const [x, y] = [Math.round(a * MILLION), Math.round(b * MILLION)];
  const isSafe = Math.abs(x) < MAX_MILLIONTHS && Math.abs(y) < MAX_MILLIONTHS;
  return isSafe && x / MILLION === a && y / MILLION === b ? (x + y) / MILLION : new Big(a).plus(b).toNumber();
}

/** ISO 8601 UTC, the form of all datetimes of the service. */
export function formatIsoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

const DATETIME_PATTERN = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Milliseconds since the epoch; a missing offset means UTC. Undefined if the string is not ISO 8601. */
export function parseIsoTime(text: string): number | undefined {
  const match = DATETIME_PATTERN.exec(text.trim());
  if (!match) return undefined;
  const dateOnly = !text.includes(":");
  const milliseconds = Date.parse(match[1] || dateOnly ? text.trim() : `${text.trim()}Z`);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** Whether a datetime begins with the filter, as written or in UTC (`2025`, `2025-01-02T10:30`), or is the same instant. */
export function matchesDateFilter(datetime: string, filter: string): boolean {
  const normalize = (text: string) => text.trim().toUpperCase().replace(" ", "T");
  const instant = parseIsoTime(datetime) ?? 0;
  const isBegun = [normalize(datetime), formatIsoTime(instant)].some((text) => text.startsWith(normalize(filter)));
  return isBegun || instant === parseIsoTime(filter);
}

export const integerAtLeast = (min: number) => z.int().min(min);

/** A quantity of stock, at least 0. */
export const nonNegativeQuantity = () => z.number().min(0);

export const nonBlankString = () => z.string().regex(/\S/, "must not be empty");

export const datetimeString = () => {
  const error = "must be a datetime (ISO 8601)";
  return z.string(error).refine((text) => parseIsoTime(text) !== undefined, error);
};

/** A delay that `setTimeout` can take. */
export const delayMilliseconds = () =>
  z
    .number()
    .min(0)
    .max(2 ** 31 - 1);
