import { ApiError, type ApiErrorInit } from "./api-error.js";
import { brand } from "./brand.js";

/** 429, after the retries are used up. The client pauses before its next request all the same. */
export class RateLimitError extends ApiError {
  static {
    brand(RateLimitError, "RateLimitError");
  }

  /** How long the client pauses, in ms: what the service asked for, else 30 to 60 seconds. */
  readonly retryAfterMs: number;

  constructor(init: ApiErrorInit & { retryAfterMs: number }) {
    super(init);
    this.retryAfterMs = init.retryAfterMs;
  }
}
