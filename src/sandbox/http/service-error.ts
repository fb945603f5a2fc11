/** Machine-readable codes of the error table, with their status. */
export const STATUS_BY_ERROR_CODE = {
  bad_request: 400,
  validation_error: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  rate_limited: 429,
  not_implemented: 501,
  internal_error: 500,
} as const;

export type ErrorCode = keyof typeof STATUS_BY_ERROR_CODE;

/** Messages per field. */
export type FieldErrors = Record<string, string[]>;

/** Thrown to respond with the document's error object. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details?: FieldErrors,
  ) {
    super(message);
  }

  get status(): number {
    return STATUS_BY_ERROR_CODE[this.code];
  }
}

export const badRequestError = (message: string) => new ServiceError("bad_request", message);
/** A conflict with the current state, for which a service may also respond with 400. */
export const conflictError = (status: 400 | 409, message: string) =>
  new ServiceError(status === 409 ? "conflict" : "bad_request", message);
export const notFoundError = (message: string) => new ServiceError("not_found", message);
export const validationError = (details: FieldErrors) =>
  new ServiceError("validation_error", "Model validation failed.", details);
export const unauthorizedError = () =>
  new ServiceError("unauthorized", "Authentication is missing, invalid or expired.");

/** The three 403 errors of the section "Authentication". */
export const insufficientPermissionsError = () => new ServiceError("forbidden", "Insufficient permissions.");
export const readOnlyAccountError = () => new ServiceError("forbidden", "Account is read-only.");
export const warehouseOutOfScopeError = () =>
  new ServiceError("forbidden", "Warehouse is outside the client's authorized scope.");
