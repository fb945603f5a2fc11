import { ApiError, type ApiErrorInit } from "./api-error.js";
import { brand } from "./brand.js";

/** Why the service forbade something; `unknown` if its text is none of the documented ones. */
export type PermissionReason =
  | "insufficient-permissions"
  | "read-only"
  | "warehouse-out-of-scope"
  | "report-access-denied"
  | "unknown";

const REASONS: readonly [RegExp, PermissionReason][] = [
  [/insufficient permissions/i, "insufficient-permissions"],
  [/read-only/i, "read-only"],
  [/warehouse is outside/i, "warehouse-out-of-scope"],
  [/report access denied/i, "report-access-denied"],
];

/** 403: the caller may not do this. Source: service interface, "Errors", rule 2. */
export class PermissionError extends ApiError {
  static {
    brand(PermissionError, "PermissionError");
  }

  /** Read from the service's own text. */
  readonly reason: PermissionReason;

  constructor(init: ApiErrorInit) {
    super(init);
    this.reason = REASONS.find(([pattern]) => pattern.test(init.message))?.[1] ?? "unknown";
  }
}
