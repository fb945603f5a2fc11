import { redact } from "../errors/redact.js";
import type { Call, ResponseCheck } from "./call.js";
import { inexactNumbers } from "./inexact-numbers.js";
import { unreadable } from "./public-error.js";
import { reportIssues } from "./report-issues.js";
import type { WireResponse } from "./transport.js";

const BYTE_ORDER_MARK = "\uFEFF";

/** The body as text. */
export function readText({ body }: WireResponse): string {
  const text = body.toString("utf8");
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/**
 * The body as JSON; a `ResponseValidationError` when it is something else. A number that a double cannot hold is an issue
 * like any other.
 */
export function readJson(response: WireResponse, call: Call, check: ResponseCheck): unknown {
  const text = readText(response);
  const data = parse(text, response, call);
  const inexact = check.mode === "off" ? [] : inexactNumbers(text);
  if (inexact.length > 0) reportIssues(inexact, response, call, check);
  return data;
}

function parse(text: string, response: WireResponse, call: Call): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (text === "") throw unreadable(call, response.status, "the answer is empty, not JSON", undefined);
    // What is left of a token in such an answer could not be recognised, so none of it is shown.
    if (call.request.isTokenRequest) throw unreadable(call, response.status, "the answer is not JSON", undefined);
    // The parser's error quotes the text, and may cut a secret in two so that it cannot be recognised any more.
    const shown = redact(text);
    const harmless = shown === text ? cause : undefined;
    throw unreadable(call, response.status, `the answer is not JSON but ${excerpt(shown)}`, harmless);
  }
}

function excerpt(text: string): string {
  const line = text.slice(0, 120).replace(/\s+/g, " ");
  return JSON.stringify(text.length > 120 ? `${line}…` : line);
}
