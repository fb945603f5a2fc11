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
} from "../errors/index.js";
import type { Call } from "./call.js";
import { readErrorBody } from "./error-body.js";
import type { Refusal } from "./failure.js";

const CLASSES: Record<number, new (init: ApiErrorInit) => ApiError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  501: NotImplementedError,
};

/** The statuses by which a token endpoint refuses credentials. */
const REFUSALS = [400, 401, 403];

/** The error that stands for an answer with an error status. */
export function apiError(
  { request, attempts }: Pick<Call, "request" | "attempts">,
  { response, waitMs }: Refusal,
): ApiError {
  const { status, headers } = response;
  const { method, path, isTokenRequest } = request;
  const init: ApiErrorInit = { status, headers, ...readErrorBody(response), method, path, attempts };
  if (isTokenRequest && REFUSALS.includes(status)) return new AuthenticationError(init);
  if (status === 400 && init.code === "validation_error") return new ValidationError(init);
  if (status === 429) return new RateLimitError({ ...init, retryAfterMs: waitMs });
  const ErrorClass = CLASSES[status] ?? (status >= 500 ? ServerError : ApiError);
  // Details belong to validation errors alone.
  return new ErrorClass({ ...init, details: undefined });
}
