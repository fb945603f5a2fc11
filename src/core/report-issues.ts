import type { Issue } from "../errors/index.js";
import type { Call, ValidationMode } from "./call.js";
import { invalidResponse } from "./public-error.js";
import type { WireResponse } from "./transport.js";

const RELAX = ' To take such answers all the same, set responseValidation to "warn" or "off".';

/** What is wrong with an answer is an error, or is logged, as the client is set. */
export function reportIssues(issues: Issue[], { status }: WireResponse, call: Call, check: ValidationMode): void {
  const error = invalidResponse(call, status, issues, call.request.isTokenRequest ? "" : RELAX);
  if (check.mode === "error") throw error;
  check.warn(error.message);
}
