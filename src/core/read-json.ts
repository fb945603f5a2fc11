import { isUtf8 } from "node:buffer";
import { redact } from "../errors/redact.js";
import type { Call, ValidationMode } from "./call.js";
import { inexactNumbers } from "./inexact-numbers.js";
import { isTextTooDeep, MAX_NESTING, parseJson } from "./parse-json.js";
import { unreadableResponse } from "./public-error.js";
import { reportIssues } from "./report-issues.js";
import type { WireResponse } from "./transport.js";

const BYTE_ORDER_MARK = /^\uFEFF/;
const LONGEST_EXCERPT = 120;

/** The body as text. Bytes that are not UTF-8 become replacement characters. */
export const readText = ({ body }: WireResponse) => body.toString("utf8").replace(BYTE_ORDER_MARK, "");

/**
 * The body as JSON; a `ResponseValidationError` if it is something else, is not UTF-8, or is nested too deeply. A number
 * that a double cannot hold is an issue like any other.
 */
export function readJson(response: WireResponse, call: Call, check: ValidationMode): unknown {
  // A replacement character in a SKU would pass all checks.
  if (!isUtf8(response.body)) throw unreadableResponse(call, "the response is not valid UTF-8");
  const text = readText(response);
  const data = parseJson(text);
  // The parser's error quotes the text, and may cut a secret in two so that it cannot be recognised any more: not shown.
  if (data === undefined) throw unreadableResponse(call, `the response is ${describe(text, call)}`);
  const inexact = check.mode === "off" ? [] : inexactNumbers(text);
  if (inexact.length > 0) reportIssues(inexact, response, call, check);
  return data;
}

function describe(text: string, call: Call): string {
  if (text === "") return "empty, not JSON";
  if (/^\s*[[{]/.test(text) && isTextTooDeep(text)) return `nested deeper than ${MAX_NESTING} levels`;
  // What is left of a token in such a response could not be recognised, so none of it is shown.
  if (call.request.isTokenRequest) return "not JSON";
  const shown = redact(text);
  const line = shown.slice(0, LONGEST_EXCERPT).replace(/\s+/g, " ");
  return `not JSON but ${JSON.stringify(shown.length > LONGEST_EXCERPT ? `${line}…` : line)}`;
}
