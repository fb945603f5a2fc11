import { brandErrorClasses } from "./brand.js";
import { redact, redactData, redactStart } from "./redact.js";
import { isServiceError, markAsServiceError } from "./service-error.js";
import { StocklotError } from "./stocklot-error.js";

/** The content of a response with an error status. The fields without a comment are those of the error. */
export interface ApiErrorInit extends Pick<ApiError, "status" | "code" | "method" | "path" | "headers" | "attempts"> {
  /** The service's own text, which becomes `serviceMessage`; empty if the response has none. */
  message: string;
  /** Advice: the last sentence of the error's message. */
  hint?: string | undefined;
  details?: ApiError["details"] | undefined;
  applied?: ApiError["applied"];
  /** Whether the body is the error object that the service documents. */
  isFromService?: boolean;
  /** Whether the response may have a message that is not shown. */
  isTextHidden?: boolean;
}

/**
 * The service responded with an error status. Each documented status has a subclass; any other status is this class
 * itself. The message reads `GET /Item: 404 Item NO-SUCH was not found.`
 *
 * Source: service interface, "Errors".
 */
export class ApiError extends StocklotError {
  /** The HTTP status. */
  readonly status: number;
  /**
   * The service's own text, for user interfaces. A short excerpt if the body is not the documented object (for example
   * a proxy's HTML); empty if the response has no text.
   */
  readonly serviceMessage: string;
  /**
   * The machine-readable code of the body, for example `not_found`. If the body has no code: the documented code of the
   * status, or `unknown`.
   */
  readonly code: string;
  /** Messages by field name; only with the code `validation_error`. */
  readonly details?: Record<string, string[]>;
  /** The method of the request. */
  readonly method: string;
  /** The path of the request, relative to `baseUrl`, encoded, without the query. */
  readonly path: string;
  /** The headers of the response, names in lower case. */
  readonly headers: Record<string, string>;
  /** How often the request was sent. */
  readonly attempts: number;

  constructor(init: ApiErrorInit) {
    super(formatApiErrorMessage(init), { applied: init.applied });
    this.status = init.status;
    this.serviceMessage = redact(init.message);
    this.code = redact(init.code);
    if (init.details) this.details = redactData(init.details);
    this.method = init.method;
    this.path = redact(init.path);
    this.headers = redactData(init.headers);
    this.attempts = init.attempts;
    if (init.isFromService) markAsServiceError(this);
  }
}

/** How much of the service's text is in the message of the error. */
const MAX_SHOWN_LENGTH = 1_000;

function formatApiErrorMessage({ method, path, status, message, details, hint, isTextHidden }: ApiErrorInit): string {
  const none = isTextHidden ? "(its text may repeat the secret, and is not shown)" : "(the response has no message)";
  // The message of a failed validation does not name the fields.
  const fields = Object.entries(details ?? {}).map(([field, found]) => `${field}: ${found.join(" ")}`);
  const text = redactStart([message, ...fields].filter(Boolean).join(" "), MAX_SHOWN_LENGTH) || none;
  const problem = `${method} ${path}: ${status} ${text}`;
  if (!hint) return problem;
  return `${/[.!?]$/.test(problem) ? problem : `${problem}.`} ${hint}`;
}

/**
 * 400: the request is malformed or data is missing. A duplicate SKU may be reported as this error or as a {@link
 * ConflictError}.
 */
export class BadRequestError extends ApiError {}

/**
 * 401 also with a new token, or a 4xx response of `POST /Token` other than 429: the service rejected the credentials
 * (400, 401, 403), or `baseUrl` is wrong (404, 405).
 */
export class AuthenticationError extends ApiError {}

/** 404: there is no such item, alias or record. */
export class NotFoundError extends ApiError {}

/** Whether the service itself says that there is no such item. A 404 of a proxy says nothing about the item. */
export const isNoSuchItem = (error: unknown): error is NotFoundError =>
  error instanceof NotFoundError && isServiceError(error);

/** 409: the request conflicts with the current state, for example a SKU that is taken. */
export class ConflictError extends ApiError {}

/** 501: the endpoint exists, but does not support the operation. Never retried. */
export class NotImplementedError extends ApiError {}

/** Any 5xx except 501, after the retries are used up. */
export class ServerError extends ApiError {}

/** 400 with the code `validation_error`: one or more fields failed the service's validation. */
export class ValidationError extends BadRequestError {
  /** The service's messages by field name; empty if there are none. */
  override readonly details: Record<string, string[]>;

  constructor(init: ApiErrorInit) {
    super(init);
    this.details = redactData(init.details ?? {});
  }
}

const PERMISSION_REASON_PATTERNS: readonly [RegExp, PermissionError["reason"]][] = [
  [/insufficient permissions/i, "insufficient-permissions"],
  [/read-only/i, "read-only"],
  [/warehouse is outside/i, "warehouse-out-of-scope"],
  [/report access denied/i, "report-access-denied"],
];

/** 403: the caller may not do this. Source: service interface, "Errors", rule 2. */
export class PermissionError extends ApiError {
  /** Why, as the service's own text says; `unknown` if that is not documented. */
  readonly reason:
    | "insufficient-permissions"
    | "read-only"
    | "warehouse-out-of-scope"
    | "report-access-denied"
    | "unknown";

  constructor(init: ApiErrorInit) {
    super(init);
    this.reason = PERMISSION_REASON_PATTERNS.find(([pattern]) => pattern.test(init.message))?.[1] ?? "unknown";
  }
}

/** 429, after the retries are used up. The client still pauses before its next request. */
export class RateLimitError extends ApiError {
  /** How long the client still pauses, in ms. The first 429 decides: the time that it requested, otherwise 30 to 60 s. */
  readonly retryAfterMs: number;

  constructor(init: ApiErrorInit & { retryAfterMs: number }) {
    super(init);
    this.retryAfterMs = init.retryAfterMs;
  }
}

brandErrorClasses({
  ApiError,
  BadRequestError,
  AuthenticationError,
  NotFoundError,
  ConflictError,
  NotImplementedError,
  ServerError,
  ValidationError,
  PermissionError,
  RateLimitError,
});
