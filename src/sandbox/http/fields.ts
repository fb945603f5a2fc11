import * as z from "zod";
import { isDateFilter, parseTime } from "../time.js";
import { issueMessage, REQUIRED } from "../validation.js";
import type { JsonObject } from "./body.js";
import { type Details, validationError } from "./service-error.js";

/**
 * The fields of a request body, checked; fields that the schema does not have are ignored, and null counts as left out.
 * Throws the validation error with a message for each field that is missing or wrong.
 */
export function readFields<S extends z.ZodObject>(schema: S, body: JsonObject): z.infer<S> {
  const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const result = schema.safeParse(sent, { error: issueMessage });
  if (result.success) return result.data;
  const details: Details = {};
  for (const { path, message } of result.error.issues) {
    const name = String(path[0]);
    details[name] ??= [message === REQUIRED ? `The ${name} field is required.` : `The field ${name} ${message}.`];
  }
  throw validationError(details);
}

/** zod would call for a number first, and for an integer only then. */
export const integerField = () =>
  z.int({ error: ({ input }) => (input === undefined ? REQUIRED : "must be an integer") });

export const positiveField = () => z.number().positive();

export const requiredStringField = () => z.preprocess(blankToUndefined, z.string());

/** Selects records; blank selects all of them. */
export const filterField = () => z.preprocess(blankToUndefined, z.string().optional());

export const datetimeField = () => dateField((text) => parseTime(text) !== undefined, "must be a datetime (ISO 8601)");

/** A date or the beginning of one; blank counts as left out. */
export const dateFilterField = () =>
  z.preprocess(
    blankToUndefined,
    dateField(isDateFilter, "must be a date or the beginning of one (ISO 8601)").optional(),
  );

const dateField = (isValid: (text: string) => boolean, error: string) => z.string(error).refine(isValid, error);

function blankToUndefined(value: unknown): unknown {
  return typeof value === "string" && value.trim() === "" ? undefined : value;
}
