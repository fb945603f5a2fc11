/** Machine-readable codes of the error table, with their status. */
export const STATUS_OF_CODE = {
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

export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** Messages per field. */
export type Details = Record<string, string[]>;

/** Thrown to respond with the document's error object. */
export class ServiceError extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details?: Details,
  ) {
    super(message);
  }

  get status(): number {
    return STATUS_OF_CODE[this.code];
  }
}

export const badRequest = (message: string) => new ServiceError("bad_request", message);
export const notFound = (message: string) => new ServiceError("not_found", message);
export const validationError = (details: Details) =>
  new ServiceError("validation_error", "Model validation failed.", details);
export const unauthorized = () => new ServiceError("unauthorized", "Authentication is missing, invalid or expired.");

/** The three 403 errors of the section "Authentication". */
export const insufficientPermissions = () => new ServiceError("forbidden", "Insufficient permissions.");
export const readOnlyAccount = () => new ServiceError("forbidden", "Account is read-only.");
export const outOfScope = () => new ServiceError("forbidden", "Warehouse is outside the client's authorized scope.");

/** The error object as JSON; without a code if the document has none for the status. */
export function errorBody(status: number, error: ErrorCode | undefined, message: string, details?: Details): string {
  return JSON.stringify({ statusCode: status, error, message, ...(details && { details }) });
}
