import { isLastingStatus } from "../../service/status.js";
import {
  ApiError,
  type ApiErrorInit,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  NotImplementedError,
  PermissionError,
  RateLimitError,
  ServerError,
  ValidationError,
} from "../../shared/errors/index.js";
import { redact, redactStart } from "../../shared/errors/redact.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { parseJsonOrUndefined, readText, type WireResponse } from "../transport/exchange.js";
import type { Call } from "./call.js";
import { dateHeaderMs } from "./service-clock.js";

const API_ERROR_CLASS_BY_STATUS: Record<number, new (init: ApiErrorInit) => ApiError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  501: NotImplementedError,
};

const BASE_URL_HINT = 'Check baseUrl: it must end with the version segment, for example "/api/v1".';

const CREDENTIALS_HINT = "Check clientId and clientSecret.";

/** Returns the error for a response with an error status. `pauseMs`: the remaining time of the pause after a 429, in ms. */
export function createApiError(
  call: Call,
  { attempts, applied }: Pick<ApiError, "attempts" | "applied">,
  response: WireResponse,
  pauseMs: number,
): ApiError {
  const { status, headers } = response;
  const { method, path, isTokenRequest } = call.request;
  const body = isTokenRequest ? codeOfTokenError(response) : readErrorBody(response);
  const isTextHidden = isTokenRequest === true;
  const init: ApiErrorInit = { status, headers, ...body, method, path, attempts, applied, isTextHidden };
  // A 404 of the token endpoint must not look like a missing item. A temporary status says nothing about the
  // credentials.
  if (isTokenRequest && isLastingStatus(status))
    return new AuthenticationError({
      ...init,
      hint: status === 404 || status === 405 ? BASE_URL_HINT : CREDENTIALS_HINT,
    });
  if (status === 400 && init.code === "validation_error") return new ValidationError(init);
  if (status === 429) return new RateLimitError({ ...init, retryAfterMs: pauseMs });
  const ErrorClass = API_ERROR_CLASS_BY_STATUS[status] ?? (status >= 500 && status < 600 ? ServerError : ApiError);
  // Details belong to validation errors alone.
  return new ErrorClass({ ...init, details: undefined });
}

const MAX_ERROR_EXCERPT_LENGTH = 200;
/** How many characters of a body are searched for an excerpt. HTML begins with tags. */
const MAX_SEARCHED_LENGTH = 20 * MAX_ERROR_EXCERPT_LENGTH;

/** The documented code of each status, for responses without a code. */
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

interface ErrorBody {
  /** Whether the body is the error object that the service documents, not a proxy's page. */
  isFromService: boolean;
  code: string;
  /** Empty if the body has no message. */
  message: string;
  details: Record<string, string[]> | undefined;
}

/**
 * Reads an error body of any form: the documented object, an object with only a message, HTML, or nothing. A proxy may
 * have written the body, so each field is used only if it has the documented type.
 */
export function readErrorBody(response: WireResponse): ErrorBody {
  const text = readText(response);
  const given = parseJsonOrUndefined(text);
  const firstString = (...names: string[]) => {
    const texts = names.map((name) => fieldOf(given, name)).filter((value) => typeof value === "string");
    const text = texts.find((value) => value !== "");
    return text && redact(text);
  };
  const hasTexts = ["error", "message"].every((name) => typeof fieldOf(given, name) === "string");
  return {
    isFromService: hasTexts && (fieldOf(given, "statusCode") ?? response.status) === response.status,
    code: firstString("error") ?? ERROR_CODE_BY_STATUS[response.status] ?? "unknown",
    message: firstString("message", "error_description", "title", "error") ?? createErrorExcerpt(text),
    details: readDetails(fieldOf(given, "details")),
  };
}

/**
 * Reads only the code from the body of a failed token request. The rest of the body may repeat the request, and so the secret, in
 * any form.
 */
function codeOfTokenError(response: WireResponse): ErrorBody {
  const { isFromService } = readErrorBody(response);
  const given = fieldOf(parseJsonOrUndefined(readText(response)), "error");
  const isCode = typeof given === "string" && CODE_PATTERN.test(redact(given));
  const code = isCode ? given : (ERROR_CODE_BY_STATUS[response.status] ?? "unknown");
  return { isFromService, code, message: isCode ? given : "", details: undefined };
}

/** A code is a word, such as `invalid_client`. */
const CODE_PATTERN = /^[a-z]+([_-][a-z]+){0,5}$/i;

/** Reads the messages by field. Anything but a string is ignored. */
function readDetails(details: unknown): ErrorBody["details"] {
  if (!isObject(details) || Array.isArray(details)) return undefined;
  const messages = Object.entries(details).map(([field, given]): [string, string[]] => [
    field,
    [given]
      .flat()
      .filter((message) => typeof message === "string")
      .map(redact),
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

/**
 * Reads `Retry-After`, seconds or a date, as ms from now; `undefined` if it is missing or invalid. A date is relative to the
 * response's own `Date`, so that a wrong clock on either side does not matter. Several equal headers count as one.
 */
export function parseRetryAfterMs(headers: Record<string, string>): number | undefined {
  const value = withoutRepetition(headers["retry-after"] ?? "");
  if (/^\d+(\.\d+)?$/.test(value)) return Number.isFinite(Number(value)) ? Number(value) * 1_000 : undefined;
  const date = HTTP_DATE_PATTERN.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - (dateHeaderMs(headers) ?? Date.now()));
}

/** Returns the value of a header that a proxy has sent twice: "30, 30" is "30". A date contains a comma itself. */
function withoutRepetition(value: string): string {
  const parts = value.split(",").map((part) => part.trim());
  const size = [1, 2].find(
    (size) => parts.length % size === 0 && parts.every((part, index) => part === parts[index % size]),
  );
  return parts.slice(0, size).join(", ");
}

const HTTP_DATE_PATTERN = /^[a-z]{3}, \d\d [a-z]{3} \d{4} [\d:]+ GMT$/i;
