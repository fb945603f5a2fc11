import { redactStart } from "../../errors/redaction/redact.js";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import type { WireResponse } from "../transport/transport.js";
import { readText } from "./body-text.js";
import { parseJsonOrUndefined } from "./parse-json.js";

/** A longer text of the service is cut off. */
const MAX_SERVICE_TEXT_LENGTH = 1_000;
const MAX_ERROR_EXCERPT_LENGTH = 200;
/** How much of a body is searched for an excerpt: HTML begins with tags. */
const MAX_SEARCHED_LENGTH = 20 * MAX_ERROR_EXCERPT_LENGTH;

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
  const firstString = (...names: string[]) => {
    const texts = names.map((name) => fieldOf(given, name)).filter((value) => typeof value === "string");
    const text = texts.find((value) => value !== "");
    return text && redactServiceText(text);
  };
  return {
    code: firstString("error") ?? ERROR_CODE_BY_STATUS[response.status] ?? "unknown",
    message: firstString("message", "error_description", "title", "error") ?? createErrorExcerpt(text),
    details: readDetails(fieldOf(given, "details")),
  };
}

const redactServiceText = (text: string) => redactStart(text, MAX_SERVICE_TEXT_LENGTH);

/** The messages by field; anything but a string is ignored. */
function readDetails(details: unknown): ErrorBody["details"] {
  if (!isObject(details) || Array.isArray(details)) return undefined;
  const messages = Object.entries(details).map(([field, given]): [string, string[]] => [
    field,
    [given]
      .flat()
      .filter((message) => typeof message === "string")
      .map(redactServiceText),
  ]);
  return Object.fromEntries(messages.filter(([, found]) => found.length > 0));
}

function createErrorExcerpt(text: string): string {
  return redactStart(text, MAX_SEARCHED_LENGTH)
    .replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_ERROR_EXCERPT_LENGTH);
}
