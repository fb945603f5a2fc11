import { redact } from "../../errors/redaction/redact.js";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import type { WireResponse } from "../transport/transport.js";
import { readText } from "./body-text.js";
import { parseJsonOrUndefined } from "./parse-json.js";

const MAX_ERROR_EXCERPT_LENGTH = 200;

/** The documented codes of the statuses, for responses that have none. */
const ERROR_CODE_BY_STATUS: Record<number, string> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  429: "rate_limited",
  500: "internal_error",
  501: "not_implemented",
};

export interface ErrorBody {
  code: string;
  /** Empty if the body has none. */
  message: string;
  details: Record<string, string[]> | undefined;
}

/**
 * Reads an error body of any form: the documented object, one with only a message, HTML, or nothing. A proxy may have written
 * it, so each field is used only if it has the documented type.
 */
export function readErrorBody(response: WireResponse): ErrorBody {
  const text = readText(response);
  const given = parseJsonOrUndefined(text);
  const firstString = (...names: string[]) =>
    names
      .map((name) => fieldOf(given, name))
      .filter((value) => typeof value === "string")
      .find((value) => value !== "");
  return {
    code: firstString("error") ?? ERROR_CODE_BY_STATUS[response.status] ?? "unknown",
    message: firstString("message", "error_description", "title", "error") ?? createErrorExcerpt(text),
    details: readDetails(fieldOf(given, "details")),
  };
}

/** The messages by field; anything but a string is ignored. */
function readDetails(details: unknown): ErrorBody["details"] {
  if (!isObject(details) || Array.isArray(details)) return undefined;
  const messages = Object.entries(details).map(([field, given]): [string, string[]] => [
    field,
    [given].flat().filter((message) => typeof message === "string"),
  ]);
  return Object.fromEntries(messages.filter(([, found]) => found.length > 0));
}

function createErrorExcerpt(text: string): string {
  // Redacted before it is cut: a part of a secret could not be recognised.
  return redact(text)
    .slice(0, 20 * MAX_ERROR_EXCERPT_LENGTH)
    .replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_ERROR_EXCERPT_LENGTH);
}
