import { fieldOf } from "../../errors/unknown-value.js";
import type { WireResponse } from "../transport/transport.js";
import { readText } from "./body-text.js";
import { readErrorBody } from "./error-body.js";
import { parseJsonOrUndefined } from "./parse-json.js";

const HTML_TYPE_PATTERN = /^(text|application)\/(x?html|xhtml\+xml)/i;

/**
 * Why the response to a write is no success although its status is one; `undefined` if it is one. `documented` is the status
 * text of the operation, if the document shows one. JSON is never HTML, whatever its content type.
 */
export function describeFalseSuccess(response: WireResponse, documented?: string): string | undefined {
  const text = readText(response);
  const body = parseJsonOrUndefined(text);
  const isHtmlType = HTML_TYPE_PATTERN.test(response.headers["content-type"] ?? "") && text.trim() !== "";
  if (/^\s*</.test(text) || (isHtmlType && body === undefined))
    return `the body is HTML, perhaps of a login page or a proxy (${readErrorBody(response).message})`;
  if (Number(fieldOf(body, "statusCode")) >= 400)
    return `the body is an error of the service (${readErrorBody(response).message})`;
  const status = fieldOf(body, "status") ?? documented;
  const isDocumented = typeof status === "string" && status.toLowerCase() === documented;
  return documented === undefined || isDocumented
    ? undefined
    : `its status is ${JSON.stringify(status)} instead of "${documented}"`;
}
