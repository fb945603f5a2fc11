import * as z from "zod";
import { parseTime } from "../clock.js";

/** A whole number from `min` on. */
export const integerFrom = (min: number) => z.int().min(min);

/** How many, where "all of them" can be said as well. */
export const countOrInfinity = () =>
  z.custom<number>(
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 0),
    "must be a whole number of at least 0, or Infinity",
  );

/** A quantity of goods, which cannot be less than nothing. */
export const quantity = () => z.number().min(0);

/** Text that says something. */
export const nonBlankString = () => z.string().refine((text) => text.trim() !== "", "must not be empty");

export const datetime = () =>
  z.string().refine((text) => parseTime(text) !== undefined, "must be a datetime (ISO 8601)");

/** A status that an answer can have: those below 200 announce another one. */
export const httpStatus = () =>
  z.custom<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );

/** A time to wait that a timer can hold. */
export const milliseconds = () =>
  z
    .number()
    .min(0)
    .max(2 ** 31 - 1);

export const callable = () => z.custom((value) => typeof value === "function", "must be a function");
