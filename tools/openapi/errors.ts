import {
  badRequestError,
  type ErrorCode,
  insufficientPermissionsError,
  notFoundError,
  rateLimitExceededMessage,
  readOnlyAccountError,
  ServiceError,
  STATUS_BY_ERROR_CODE,
  unauthorizedError,
  validationError,
  warehouseOutOfScopeError,
} from "../../src/sandbox/http/messages.js";
import { type JsonObject, jsonContent, ref } from "./json.js";

/** The meaning of each code in the service's document. */
const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  bad_request: "Malformed request or missing data",
  validation_error: "One or more fields failed validation; see `details`",
  unauthorized: "Authentication missing, invalid or expired",
  forbidden: "Lacking permission",
  not_found: "Resource does not exist",
  conflict: "Conflict with current state (for example duplicate ShortID)",
  rate_limited: "Too many requests; the body is a RateLimitExceeded",
  not_implemented: "Endpoint exists but the operation is unavailable",
  internal_error: "Unexpected server error",
};

const codes = Object.entries(MEANINGS).map(([code, meaning]) => `\`${code}\`: ${meaning}.`);

export const ERROR_SCHEMAS: JsonObject = {
  Error: {
    type: "object",
    description: "Why a request failed.",
    required: ["statusCode", "error", "message"],
    properties: {
      statusCode: { type: "integer", description: "Same as the HTTP status." },
      error: { type: "string", enum: Object.keys(STATUS_BY_ERROR_CODE), description: codes.join(" ") },
      message: { type: "string", description: "Human-readable text." },
      details: {
        type: ["object", "null"],
        description: "Messages by field name. Present only when `error` is `validation_error`.",
        additionalProperties: { type: "array", items: { type: "string" } },
      },
    },
  },
  RateLimitExceeded: {
    type: "object",
    description: "The body of a 429, which is not the error object.",
    required: ["message"],
    properties: { message: { type: "string", description: "Human-readable text." } },
  },
};

const SHOWN = "The text is the service's own.";
const NOT_SHOWN = "The text is an example: the service's own is not shown.";

function example({ status, code, message, details }: ServiceError, summary: string, source: string): JsonObject {
  const value = { statusCode: status, error: code, message, ...(details && { details }) };
  return { summary, description: source, value };
}

/** One example for each error that the service's document distinguishes. */
export const ERROR_EXAMPLES = {
  malformed: example(
    badRequestError("The request body is not valid JSON."),
    "Malformed, or data are missing",
    NOT_SHOWN,
  ),
  invalid: example(
    validationError({ units: ["The field units must be greater than 0."] }),
    "Fields that failed validation",
    "The message is the service's own; those in `details` are examples.",
  ),
  duplicateAsBadRequest: example(
    badRequestError("An item with ShortID BOLT-M8 already exists."),
    "A duplicate ShortID, as the service's description of the endpoint has it",
    NOT_SHOWN,
  ),
  duplicateAsConflict: example(
    new ServiceError("conflict", "An item with ShortID BOLT-M8 already exists."),
    "A duplicate ShortID, as the service's table of errors has it",
    NOT_SHOWN,
  ),
  unauthorized: example(unauthorizedError(), "No token, or one that is wrong or expired", NOT_SHOWN),
  insufficientPermissions: example(insufficientPermissionsError(), "The permission is missing", SHOWN),
  readOnlyAccount: example(readOnlyAccountError(), "A read-only client writes", SHOWN),
  outOfScope: example(warehouseOutOfScopeError(), "The client is not assigned to the warehouse", SHOWN),
  notFound: example(notFoundError("Item BOLT-M8 was not found."), "There is no such item", NOT_SHOWN),
  internalError: example(
    new ServiceError("internal_error", "Unexpected server error."),
    "Something failed in the service",
    NOT_SHOWN,
  ),
  notImplemented: example(
    new ServiceError("not_implemented", "The operation is not available."),
    "The endpoint exists, the operation does not",
    NOT_SHOWN,
  ),
  rateLimited: {
    summary: "Over the limit",
    description: SHOWN,
    value: { message: rateLimitExceededMessage() },
  },
} satisfies Readonly<Record<string, JsonObject>>;

type ErrorExample = keyof typeof ERROR_EXAMPLES;

/** Returns a response with the error object. */
export const errorResponse = (description: string, ...examples: readonly ErrorExample[]): JsonObject => ({
  description,
  content: jsonContent(ref("schemas/Error"), examples),
});

/** Errors with the same meaning in every operation. */
export const ERROR_RESPONSES: JsonObject = {
  BadRequest: errorResponse(
    "The request is malformed, lacks data, or a field failed validation.",
    "malformed",
    "invalid",
  ),
  Unauthorized: errorResponse(
    "The token is missing, invalid or expired. Request a new token and retry.",
    "unauthorized",
  ),
  NotFound: errorResponse("There is no such item.", "notFound"),
  RateLimited: {
    description:
      "More than 100 requests in a minute. Wait 30 to 60 seconds, then retry. The body is not the error object.",
    content: jsonContent(ref("schemas/RateLimitExceeded"), ["rateLimited"]),
  },
  InternalError: errorResponse("The service failed. Whether a write was applied is not shown.", "internalError"),
  NotImplemented: errorResponse("The endpoint exists, but the operation is unavailable.", "notImplemented"),
  Other: errorResponse("Any other failure."),
};
