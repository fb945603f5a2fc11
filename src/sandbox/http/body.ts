import { badRequestError } from "./service-error.js";

/** A JSON object, field by field. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The body of a write, which must be a JSON object. */
export function parseJsonObject(contentType: string | null, body: string): JsonObject {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType ?? "")) {
    throw badRequestError("The request body must be JSON (Content-Type: application/json).");
  }
  const value = parseJson(body);
  if (!isJsonObject(value)) throw badRequestError("The request body is not a JSON object.");
  return value;
}

/** The fields of a form body. */
export function parseFormFields(contentType: string | null, body: string): URLSearchParams {
  if (!/^application\/x-www-form-urlencoded\b/i.test(contentType ?? "")) {
    throw badRequestError("The request body must be a form (Content-Type: application/x-www-form-urlencoded).");
  }
  return new URLSearchParams(body);
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw badRequestError("The request body is not valid JSON.");
  }
}
