export { ApiError, type ApiErrorInit } from "./api-error.js";
export { ClientClosedError } from "./client-closed-error.js";
export { ConfigurationError } from "./configuration-error.js";
export { ConnectionError } from "./connection-error.js";
export { InputValidationError } from "./input-validation-error.js";
export { OutcomeUnknownError, type SentRequest } from "./outcome-unknown-error.js";
export { PaginationError } from "./pagination-error.js";
export { PermissionError, type PermissionReason } from "./permission-error.js";
export { RateLimitError } from "./rate-limit-error.js";
export { ResponseValidationError } from "./response-validation-error.js";
export {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  NotImplementedError,
  ServerError,
} from "./status-errors.js";
export { type Issue, StocklotError } from "./stocklot-error.js";
export { TimeoutError, type TimeSpent } from "./timeout-error.js";
export { ValidationError } from "./validation-error.js";
