import type { ApiError } from "./api-error.js";
import type { AuthenticationError } from "./authentication-error.js";
import type { BadRequestError } from "./bad-request-error.js";
import type { ClientClosedError } from "./client-closed-error.js";
import type { ConfigurationError } from "./configuration-error.js";
import type { ConflictError } from "./conflict-error.js";
import type { ConnectionError } from "./connection-error.js";
import type { InputValidationError } from "./input-validation-error.js";
import type { NotFoundError } from "./not-found-error.js";
import type { NotImplementedError } from "./not-implemented-error.js";
import type { OutcomeUnknownError } from "./outcome-unknown-error.js";
import type { PaginationError } from "./pagination-error.js";
import type { PermissionError } from "./permission-error.js";
import type { RateLimitError } from "./rate-limit-error.js";
import type { ResponseValidationError } from "./response-validation-error.js";
import type { ServerError } from "./server-error.js";
import { StocklotError } from "./stocklot-error.js";
import type { TimeoutError } from "./timeout-error.js";
import type { ValidationError } from "./validation-error.js";

interface Classes {
  ApiError: ApiError;
  AuthenticationError: AuthenticationError;
  BadRequestError: BadRequestError;
  ClientClosedError: ClientClosedError;
  ConfigurationError: ConfigurationError;
  ConflictError: ConflictError;
  ConnectionError: ConnectionError;
  InputValidationError: InputValidationError;
  NotFoundError: NotFoundError;
  NotImplementedError: NotImplementedError;
  OutcomeUnknownError: OutcomeUnknownError;
  PaginationError: PaginationError;
  PermissionError: PermissionError;
  RateLimitError: RateLimitError;
  ResponseValidationError: ResponseValidationError;
  ServerError: ServerError;
  TimeoutError: TimeoutError;
  ValidationError: ValidationError;
}

/**
 * The `name` of an error of this package.
 *
 * @useDeclaredType
 */
export type StocklotErrorName = keyof Classes;

/** Any error of this package, told apart by `name`: a `switch` over it can be exhaustive. */
export type AnyStocklotError = {
  [Name in StocklotErrorName]: Classes[Name] & { readonly name: Name };
}[StocklotErrorName];

/**
 * Whether an error is one of this package, as a union that `switch (error.name)` narrows. Classes of your own that extend
 * one of them have names of their own, for the `default` branch.
 */
export const isStocklotError = (error: unknown): error is AnyStocklotError => error instanceof StocklotError;
