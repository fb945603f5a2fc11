export {
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
} from "./api-errors.js";
export { ClientClosedError, ConnectionError, TimeoutError } from "./connection-errors.js";
export { ConfigurationError, InputValidationError } from "./input-errors.js";
export { OutcomeUnknownError, type SentRequest } from "./outcome-unknown-error.js";
export { PaginationError, ResponseValidationError } from "./response-errors.js";
export { type Issue, StocklotError } from "./stocklot-error.js";
export { StorageError } from "./storage-error.js";
export { UnexpectedRemovalsError } from "./unexpected-removals-error.js";
