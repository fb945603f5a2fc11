import { brand } from "./brand.js";
import { redact, redactData } from "./redact.js";
import { StocklotError } from "./stocklot-error.js";

/** What an answer with an error status tells. */
export interface ApiErrorInit {
  /** The HTTP status. */
  status: number;
  /** The machine-readable code. */
  code: string;
  /** What the error says. */
  message: string;
  /** Messages by field name. */
  details?: Record<string, string[]> | undefined;
  /** The method of the request. */
  method: string;
  /** Its path, relative to `baseUrl`. */
  path: string;
  /** The headers of the answer, names in lower case. */
  headers: Record<string, string>;
  /** How often the request was sent. */
  attempts: number;
  /** What went wrong before. */
  cause?: unknown;
}

/**
 * The service answered with an error status. The subclasses stand for the documented ones; any other status gives this
 * class itself.
 *
 * Source: service interface, "Errors".
 */
export class ApiError extends StocklotError {
  static {
    brand(ApiError, "ApiError");
  }

  /** The HTTP status. */
  readonly status: number;
  /** The machine-readable code of the body, for example `not_found`; when there is none, the one that goes with the status, else `unknown`. */
  readonly code: string;
  /** Messages by field name; only with the code `validation_error`. */
  readonly details?: Record<string, string[]>;
  /** The method of the request. */
  readonly method: string;
  /** The path of the request, relative to `baseUrl`, encoded, without the query. */
  readonly path: string;
  /** The headers of the answer, names in lower case. */
  readonly headers: Record<string, string>;
  /** How often the request was sent. */
  readonly attempts: number;

  constructor(init: ApiErrorInit) {
    super(init.message, init);
    this.status = init.status;
    this.code = redact(init.code);
    if (init.details) this.details = redactData(init.details);
    this.method = init.method;
    this.path = redact(init.path);
    this.headers = redactData(init.headers);
    this.attempts = init.attempts;
  }
}
