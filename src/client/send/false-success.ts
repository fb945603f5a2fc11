/*
 * Finds responses to writes whose status is a success, but whose body is an error. The document has two forms of errors:
 *
 *   { statusCode, error, message, details }      most errors
 *   { message }                                  the rate limit
 *
 * A gateway may put either form into an array, a string of JSON or a field `error`, spell the names in other letters, or send
 * its own form (RFC 9457). A body with a message is no error if it has other fields, too, or says that all is well.
 */
import { redact } from "../../shared/errors/redact.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { parseJsonOrUndefined, readText, type WireResponse } from "../transport/exchange.js";
import { readErrorBody } from "./api-error.js";

const HTML_TYPE_PATTERN = /^(text|application)\/(x?html|xhtml\+xml)/i;
/** application/problem+json, application/vnd.error+json. */
const ERROR_TYPE_PATTERN = /^\s*application\/(problem|[\w.-]*\berror)\+(json|xml)/i;

/**
 * Returns why the response to a write is no success although its HTTP status is; `undefined` for a success. `documented` is the
 * `status` that the body must have, if the document shows one. JSON is never HTML, whatever its content type.
 */
export function describeFalseSuccess(response: WireResponse, documented?: string): string | undefined {
  const text = readText(response);
  const body = parseJsonOrUndefined(text);
  const type = response.headers["content-type"] ?? "";
  const isHtmlType = HTML_TYPE_PATTERN.test(type) && text.trim() !== "";
  if (!ERROR_TYPE_PATTERN.test(type) && (/^\s*</.test(text) || (isHtmlType && body === undefined)))
    return `the body is HTML, perhaps of a login page or a proxy (${readErrorBody(response).message})`;
  const error = findErrorObject(body, MAX_ERROR_DEPTH);
  if (error) return `the body is an error of the service (${messageIn(error) ?? readErrorBody(response).message})`;
  if (ERROR_TYPE_PATTERN.test(type)) return `the body is an error (${readErrorBody(response).message || type})`;
  if (isObject(body) && inLowerCase(body).success === false) return "the body reports a failure (success is false)";
  const status = fieldOf(body, "status") ?? documented;
  const isDocumented = typeof status === "string" && status.toLowerCase() === documented;
  return documented === undefined || isDocumented
    ? undefined
    : `its status is ${JSON.stringify(status)} instead of "${documented}"`;
}

/** How many arrays, strings of JSON and fields `error` may surround an error. */
const MAX_ERROR_DEPTH = 4;

/** The error object that a body is or contains. */
function findErrorObject(body: unknown, depth: number): object | undefined {
  if (depth === 0) return undefined;
  if (typeof body === "string")
    return /^\s*["[{]/.test(body) ? findErrorObject(parseJsonOrUndefined(body), depth - 1) : undefined;
  if (!isObject(body)) return undefined;
  if (Array.isArray(body))
    return body.map((element) => findErrorObject(element, depth - 1)).find((error) => error !== undefined);
  if (isErrorObject(body)) return body;
  // Next to other fields, the object in `error` may be anything, unless it has an error status. So may the only field of a body.
  const { error, ...rest } = inLowerCase(body);
  const others = Object.values(rest).filter((value) => value !== null);
  const isAlone = others.length === 0;
  const wrapped = others.length === 1 && error === undefined ? others[0] : error;
  const inner = isObject(wrapped) || isAlone ? findErrorObject(wrapped, depth - 1) : undefined;
  return inner && (isAlone || isErrorStatus(inLowerCase(inner).statuscode)) ? inner : undefined;
}

const DOCUMENTED_FIELDS: ReadonlySet<string> = new Set(["statuscode", "error", "message", "details"]);

function isErrorObject(given: object): boolean {
  const fields = inLowerCase(given);
  const { statuscode, error, message } = fields;
  if (isErrorStatus(statuscode)) return true;
  // RFC 9457, without its media type. Its `type` may be left out.
  if (isErrorStatus(fields.status) && typeof fields.title === "string") return true;
  const hasOthers = Object.entries(fields).some(([name, value]) => value !== null && !DOCUMENTED_FIELDS.has(name));
  if (hasOthers) return false;
  if (isText(error)) return true;
  // There is only a message. With an empty `error` or a success status, the message is no error.
  return isText(message) && !("error" in fields) && !isSuccess(statuscode);
}

const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
const isErrorStatus = (status: unknown) => isStatus(status) && Number(status) >= 400;
const isSuccess = (status: unknown) => isStatus(status) && Number(status) >= 200 && Number(status) < 300;
/** A number, or a string that may contain a number. */
const isStatus = (status: unknown) => typeof status === "number" || isText(status);

/** Services spell the names of their fields in camel case or in Pascal case, depending on a setting. */
const inLowerCase = (given: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));

function messageIn(error: object): string | undefined {
  const { message, title, error: code } = inLowerCase(error);
  const text = [message, title, code].find(isText);
  return typeof text === "string" ? redact(text) : undefined;
}

/**
 * Whether the body of a response that may have been cut is part of a JSON text. Does not recognise a cut number, which is still
 * a number: see `readTransactionResult`.
 */
export function isCutOff(response: WireResponse): boolean {
  if (!response.endsByClose) return false;
  const text = readText(response);
  return /^\s*["[{]/.test(text) && parseJsonOrUndefined(text) === undefined;
}
