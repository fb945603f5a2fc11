import { brand } from "./brand.js";
import { redact, redactData } from "./redact.js";
import { StocklotError } from "./stocklot-error.js";

/** The content of a response with an error status. */
export interface ApiErrorInit {
  /** The HTTP status. */
  status: number;
  /** The machine-readable code. */
  code: string;
  /** The service's own text, which becomes `serviceMessage`; empty if the response has none. */
  message: string;
  /** What to do, as a sentence; ends the message of the error. */
  hint?: string | undefined;
  /** Messages by field name. */
  details?: Record<string, string[]> | undefined;
  /** The method of the request. */
  method: string;
  /** Its path, relative to `baseUrl`, without the query. */
  path: string;
  /** The headers of the response, names in lower case. */
  headers: Record<string, string>;
  /** How often the request was sent. */
  attempts: number;
  /** What went wrong before. */
  cause?: unknown;
}

/**
 * The service responded with an error status. The subclasses stand for the documented ones; any other status is this class
 * itself. The message reads `GET /Item: 404 Item NO-SUCH was not found.`
 *
 * Source: service interface, "Errors".
 */
export class ApiError extends StocklotError {
  static {
    brand(ApiError, "ApiError");
  }

  /** The HTTP status. */
  readonly status: number;
  /**
   * The service's own text, for user interfaces; a short excerpt if the body is not the documented object (a proxy's HTML);
   * empty if the response has none.
   */
  readonly serviceMessage: string;
  /** The machine-readable code of the body, for example `not_found`; if there is none, the documented one of the status, else `unknown`. */
  readonly code: string;
  /** Messages by field name; only with the code `validation_error`. */
  readonly details?: Record<string, string[]>;
  /** The method of the request. */
  readonly method: string;
  /** The path of the request, relative to `baseUrl`, encoded, without the query. */
  readonly path: string;
  /** The headers of the response, names in lower case. */
  readonly headers: Record<string, string>;
  /** How often the request was sent. */
  readonly attempts: number;

  constructor(init: ApiErrorInit) {
    super(describe(init), init);
    this.status = init.status;
    this.serviceMessage = redact(init.message);
    this.code = redact(init.code);
    if (init.details) this.details = redactData(init.details);
    this.method = init.method;
    this.path = redact(init.path);
    this.headers = redactData(init.headers);
    this.attempts = init.attempts;
  }
}

function describe({ method, path, status, message, hint }: ApiErrorInit): string {
  const problem = `${method} ${path}: ${status} ${message || "(the response has no message)"}`;
  if (!hint) return problem;
  return `${/[.!?]$/.test(problem) ? problem : `${problem}.`} ${hint}`;
}
