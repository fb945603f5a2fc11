import { redact } from "../../errors/redaction/redact.js";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import type { WireResponse } from "../transport/transport.js";
import { parseJson } from "./parse-json.js";

const LONGEST_EXCERPT = 200;

/** The documented codes of the statuses, for answers that carry none. */
const CODES: Record<number, string> = {
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
  /** Empty if the body has no text. */
  message: string;
  details: Record<string, string[]> | undefined;
}

/**
 * What an error body says, whatever its form: the documented object, one with only a message, HTML, or nothing. A proxy may
 * have written it, so each field is taken if it is what it should be.
 */
export function readErrorBody({ status, body }: WireResponse): ErrorBody {
  const text = body.toString("utf8");
  const given = parseJson(text);
  const textIn = (...names: string[]) =>
    names
      .map((name) => fieldOf(given, name))
      .filter((value) => typeof value === "string")
      .find((value) => value !== "");
  return {
    code: textIn("error") ?? CODES[status] ?? "unknown",
    message: textIn("message", "error_description", "title", "error") ?? excerptOf(text),
    details: messagesByField(fieldOf(given, "details")),
  };
}

/** The messages of each field that has any; what is no message is passed over. */
function messagesByField(details: unknown): ErrorBody["details"] {
  if (!isObject(details) || Array.isArray(details)) return undefined;
  const messages = Object.entries(details).map(([field, given]): [string, string[]] => [
    field,
    [given].flat().filter((message) => typeof message === "string"),
  ]);
  return Object.fromEntries(messages.filter(([, found]) => found.length > 0));
}

function excerptOf(text: string): string {
  // Redacted as a whole: what is left of a secret that was cut in two could not be recognised.
  return redact(text)
    .slice(0, 20 * LONGEST_EXCERPT)
    .replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, LONGEST_EXCERPT);
}
