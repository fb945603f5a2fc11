import type {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ClientClosedError,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  InputValidationError,
  NotFoundError,
  NotImplementedError,
  OutcomeUnknownError,
  PaginationError,
  PermissionError,
  RateLimitError,
  ResponseValidationError,
  ServerError,
  StorageError,
  TimeoutError,
  UnexpectedRemovalsError,
  ValidationError,
} from "./index.js";
import { StocklotError } from "./stocklot-error.js";

interface ErrorClasses {
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
  StorageError: StorageError;
  TimeoutError: TimeoutError;
  UnexpectedRemovalsError: UnexpectedRemovalsError;
  ValidationError: ValidationError;
}

/**
 * The `name` of an error of this package.
 *
 * @useDeclaredType
 */
export type StocklotErrorName = keyof ErrorClasses;

/** Any error of this package, distinguished by `name`: a `switch` over it can be exhaustive. */
export type AnyStocklotError = {
  [Name in StocklotErrorName]: ErrorClasses[Name] & { readonly name: Name };
}[StocklotErrorName];

/**
 * Whether an error is one of this package, as a union that `switch (error.name)` narrows. Classes of your own that extend
 * one of them and set a name of their own belong in the `default` branch.
 */
export const isStocklotError = (error: unknown): error is AnyStocklotError => error instanceof StocklotError;
