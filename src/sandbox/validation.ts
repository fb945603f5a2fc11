import * as z from "zod";
import { configurationError } from "../schemas/check.js";
import { valueThat } from "../schemas/option.js";
import { parseIsoTime } from "./time.js";

export const integerAtLeast = (min: number) => z.int().min(min);

/** A quantity of stock, at least 0. */
export const nonNegativeQuantity = () => z.number().min(0);

export const nonBlankString = () => z.string().regex(/\S/, "must not be empty");

export const datetimeString = () =>
  dateStringMatching((text) => parseIsoTime(text) !== undefined, "must be a datetime (ISO 8601)");

export const dateStringMatching = (isValid: (text: string) => boolean, error: string) =>
  z.string(error).refine(isValid, error);

/** A status that a response can have: those below 200 are informational. */
export const httpStatusCodeSchema = () =>
  valueThat<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );

/** A delay that `setTimeout` can take. */
export const delayMilliseconds = () =>
  z
    .number()
    .min(0)
    .max(2 ** 31 - 1);

/** The error for an option that contradicts another one. */
export const sandboxOptionError = (path: (string | number)[], message: string) =>
  configurationError("createSandbox", [{ path, message }]);

/** Throws a `ConfigurationError` when two records have the same value in the field; records without a value are skipped. */
export function assertUniqueField<Name extends string>(
  option: string,
  field: Name,
  records: readonly { readonly [N in Name]?: string | number | undefined }[],
): void {
  const seen = new Set<string | number>();
  for (const record of records) {
    const value = record[field];
    if (value === undefined) continue;
    if (seen.has(value)) throw sandboxOptionError([option], `${field} ${value} occurs twice`);
    seen.add(value);
  }
}
