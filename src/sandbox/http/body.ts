import * as z from "zod";
import { describeProblem } from "../../shared/schema.js";
import { isObject } from "../../shared/unknown.js";
import { badRequestError, type FieldErrors, validationError } from "./messages.js";

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseJsonObject(contentType: string | null, body: string): JsonObject {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType ?? "")) {
    throw badRequestError("The request body must be JSON (Content-Type: application/json).");
  }
  const value = parseJson(body);
  if (!isObject(value) || Array.isArray(value)) throw badRequestError("The request body is not a JSON object.");
  return Object.fromEntries(Object.entries(value));
}

export function parseFormFields(contentType: string | null, body: string): URLSearchParams {
  if (!/^application\/x-www-form-urlencoded\b/i.test(contentType ?? "")) {
    throw badRequestError("The request body must be a form (Content-Type: application/x-www-form-urlencoded).");
  }
  return new URLSearchParams(body);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw badRequestError("The request body is not valid JSON.");
  }
}

/**
 * The fields of a request body, checked; fields that the schema does not have are ignored, and null counts as left out.
 * Throws the validation error with a message for each field that is missing or wrong.
 */
export function parseBodyFields<S extends z.ZodObject>(schema: S, body: JsonObject): z.infer<S> {
  const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const result = schema.safeParse(sent, { error: describeProblem, reportInput: true });
  if (result.success) return result.data;
  const details: FieldErrors = {};
  for (const { path, message, input } of result.error.issues) {
    const name = String(path[0]);
    details[name] ??= [
      input === undefined ? `The ${name} field is required.` : `The field ${name} is not valid (${message}).`,
    ];
  }
  throw validationError(details);
}

export const requiredString = () => z.preprocess(blankToUndefined, z.string());

/** Selects records; blank selects all of them. */
export const optionalFilter = () => z.preprocess(blankToUndefined, z.string().optional());

function blankToUndefined(value: unknown): unknown {
  return typeof value === "string" && value.trim() === "" ? undefined : value;
}
