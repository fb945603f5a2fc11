import type { ApiErrorInit } from "./api-error.js";
import { brand } from "./brand.js";
import { redactData } from "./redact.js";
import { BadRequestError } from "./status-errors.js";

/** 400 with the code `validation_error`: one or more fields failed the service's validation. */
export class ValidationError extends BadRequestError {
  static {
    brand(ValidationError, "ValidationError");
  }

  /** The service's messages by field name; empty when it gave none. */
  override readonly details: Record<string, string[]>;

  constructor(init: ApiErrorInit) {
    super(init);
    this.details = redactData(init.details ?? {});
  }
}
