import { brandErrorClasses } from "./brand.js";
import { redactData } from "./redact.js";
import { type Issue, StocklotError } from "./stocklot-error.js";

/**
 * The request succeeded, but the response does not match the service's document: a field has another type, the body is
 * not JSON, or the body is larger than `maxResponseBytes`.
 */
export class ResponseValidationError extends StocklotError {
  /** The HTTP status of the response. */
  readonly status: number;
  /** What is wrong, field by field. */
  readonly issues: Issue[];

  constructor(
    message: string,
    init: { status: number; issues: Issue[]; cause?: unknown; applied?: StocklotError["applied"] },
  ) {
    super(message, init);
    this.status = init.status;
    this.issues = redactData(init.issues);
  }
}

/**
 * Paging cannot continue: the service reports more records but returns no new ones, or with `gapless` the client cannot
 * prove that no record was missed.
 */
export class PaginationError extends StocklotError {}

brandErrorClasses({ ResponseValidationError, PaginationError });
