import { inspect } from "node:util";
import * as z from "zod";
import { parseTime } from "./dates.js";

/** A problem as zod reports it, before it has a message. */
export type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** What is wrong with a value, for options and request bodies alike. */
export function issueMessage(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined && issue.path?.length
        ? REQUIRED
        : `must be ${NOUNS.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.map((value) => inspect(value)).join(" or ")}`;
    case "too_small":
      return `must be ${issue.inclusive ? "at least" : "greater than"} ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    default:
      return "is invalid";
  }
}

export const REQUIRED = "is required";

const NOUNS: ReadonlyMap<string, string> = new Map([
  ["int", "an integer"],
  ["number", "a number"],
  ["string", "a string"],
  ["boolean", "true or false"],
  ["array", "an array"],
  ["object", "an object"],
  ["record", "an object"],
]);

/** An integer of at least `min`. */
export const integerFrom = (min: number) => z.int().min(min);

/** A count, or Infinity. */
export const countOrInfinity = () =>
  z.custom<number>(
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 0),
    "must be an integer of at least 0, or Infinity",
  );

/** A quantity of stock, at least 0. */
export const quantity = () => z.number().min(0);

/** A string that is not blank. */
export const nonBlankString = () => z.string().refine((text) => text.trim() !== "", "must not be empty");

export const datetime = () =>
  z.string().refine((text) => parseTime(text) !== undefined, "must be a datetime (ISO 8601)");

/** A status that a response can have: those below 200 are informational. */
export const httpStatus = () =>
  z.custom<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );

/** A delay that `setTimeout` can take. */
export const milliseconds = () =>
  z
    .number()
    .min(0)
    .max(2 ** 31 - 1);

export const callable = () => z.custom((value) => typeof value === "function", "must be a function");
