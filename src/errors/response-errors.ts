import { brandErrorClass } from "./brand.js";
import { redactData } from "./redaction/redact.js";
import { type Issue, StocklotError } from "./stocklot-error.js";

/**
 * The request succeeded, but the response is not what the service documents: a field of another type, a body that is not
 * JSON, or one that is larger than `maxResponseBytes`.
 */
export class ResponseValidationError extends StocklotError {
  static {
    brandErrorClass(ResponseValidationError, "ResponseValidationError");
  }

  /** The HTTP status of the response. */
  readonly status: number;
  /** What is wrong, field by field. */
  readonly issues: Issue[];

  constructor(message: string, init: { status: number; issues: Issue[]; cause?: unknown }) {
    super(message, init);
    this.status = init.status;
    this.issues = redactData(init.issues);
  }
}

/**
 * Paging cannot continue: the service reports more records but returns none that are new, or with `gapless` the continuity of
 * the list cannot be shown.
 */
export class PaginationError extends StocklotError {
  static {
    brandErrorClass(PaginationError, "PaginationError");
  }
}
