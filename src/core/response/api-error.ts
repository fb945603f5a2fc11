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
} from "../../errors/index.js";
import { wording } from "../../errors/wording.js";
import type { Call } from "../call.js";
import type { ErrorResponse } from "../failure.js";
import { readErrorBody } from "./error-body.js";

const API_ERROR_CLASS_BY_STATUS: Record<number, new (init: ApiErrorInit) => ApiError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  501: NotImplementedError,
};

const baseUrlHint = () => `Check ${wording().baseUrl}: it must end with the version segment, for example "/api/v1".`;

/** The error for a response with an error status. */
export function createApiError(
  { request, attempts }: Pick<Call, "request" | "attempts">,
  { response, waitMs }: ErrorResponse,
): ApiError {
  const { status, headers } = response;
  const { method, path, isTokenRequest } = request;
  const init: ApiErrorInit = { status, headers, ...readErrorBody(response), method, path, attempts };
  // A 404 of the token endpoint must not look like a missing item.
  if (isTokenRequest && status >= 400 && status < 500 && status !== 429) {
    const hint = status === 404 || status === 405 ? baseUrlHint() : undefined;
    return new AuthenticationError({ ...init, hint });
  }
  if (status === 400 && init.code === "validation_error") return new ValidationError(init);
  if (status === 429) return new RateLimitError({ ...init, retryAfterMs: waitMs });
  const ErrorClass = API_ERROR_CLASS_BY_STATUS[status] ?? (status >= 500 && status < 600 ? ServerError : ApiError);
  // Details belong to validation errors alone.
  return new ErrorClass({ ...init, details: undefined });
}
